"""Files: readers that turn them into models and recordings, in metres and radians; and writers."""

from exactik.errors import Note
from exactik.io._files import open_atomic, read_text
from exactik.io._load import (
    check_axis,
    load_joint_names,
    load_markers,
    load_motion,
    load_skeleton,
)
from exactik.io._notes import collect_warnings
from exactik.io._save import save_markers, save_motion, save_skeleton
from exactik.io.conversion import (
    Conversion,
    choose_unit,
    convert,
    files_to_write,
    find_skeleton_beside,
    find_up_axis,
    target_suffixes,
    write_files,
)
from exactik.io.formats import (
    FORMATS,
    Format,
    find_format,
    readable_formats,
    readable_suffixes,
    suffix_of,
    writable_formats,
    writable_suffixes,
)
from exactik.io.inspection import (
    READABLE,
    BoneFacts,
    DofFacts,
    Facts,
    MarkerFacts,
    SkeletonFacts,
    describe_markers,
    inspect_file,
    inspect_markers,
    measure_space,
)
from exactik.io.robots import JointPlace

__all__ = [
    "FORMATS",
    "READABLE",
    "BoneFacts",
    "Conversion",
    "DofFacts",
    "Facts",
    "Format",
    "JointPlace",
    "MarkerFacts",
    "Note",
    "SkeletonFacts",
    "check_axis",
    "choose_unit",
    "collect_warnings",
    "convert",
    "describe_markers",
    "files_to_write",
    "find_format",
    "find_skeleton_beside",
    "find_up_axis",
    "inspect_file",
    "inspect_markers",
    "load_joint_names",
    "load_markers",
    "load_motion",
    "load_skeleton",
    "measure_space",
    "open_atomic",
    "read_text",
    "readable_formats",
    "readable_suffixes",
    "save_markers",
    "save_motion",
    "save_skeleton",
    "suffix_of",
    "target_suffixes",
    "writable_formats",
    "writable_suffixes",
    "write_files",
]
