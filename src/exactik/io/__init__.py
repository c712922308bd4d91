"""Files: readers that turn them into models and recordings, in metres and radians; and writers."""

from exactik.errors import Note
from exactik.io._files import open_atomic, read_text
from exactik.io._load import (
    load_joint_names,
    load_markers,
    load_motion,
    load_skeleton,
    save_markers,
    save_motion,
    save_skeleton,
)
from exactik.io._notes import Notes, collect_warnings
from exactik.io._rest_frames import compute_coordinates, make_continuous
from exactik.io._xml import MAX_DEPTH, Element, read_xml
from exactik.io.conversion import (
    Conversion,
    ConvertOptions,
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
    find_content,
    find_format,
    readable_suffixes,
    suffix_of,
    with_suffix,
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
from exactik.io.opensim import load_ik_setup, load_imu_setup, load_opensim_model, load_orientations
from exactik.io.opensim.scaling import GenericModel, load_scale_setup
from exactik.io.robots import JointPlace, find_robot, list_robots
from exactik.io.tables import load_coordinate_table, load_timed_markers

__all__ = [
    "FORMATS",
    "MAX_DEPTH",
    "READABLE",
    "BoneFacts",
    "Conversion",
    "ConvertOptions",
    "DofFacts",
    "Element",
    "Facts",
    "Format",
    "GenericModel",
    "JointPlace",
    "MarkerFacts",
    "Note",
    "Notes",
    "SkeletonFacts",
    "choose_unit",
    "collect_warnings",
    "compute_coordinates",
    "convert",
    "describe_markers",
    "files_to_write",
    "find_content",
    "find_format",
    "find_robot",
    "find_skeleton_beside",
    "find_up_axis",
    "inspect_file",
    "inspect_markers",
    "list_robots",
    "load_coordinate_table",
    "load_ik_setup",
    "load_imu_setup",
    "load_joint_names",
    "load_markers",
    "load_motion",
    "load_opensim_model",
    "load_orientations",
    "load_scale_setup",
    "load_skeleton",
    "load_timed_markers",
    "make_continuous",
    "measure_space",
    "open_atomic",
    "read_text",
    "read_xml",
    "readable_suffixes",
    "save_markers",
    "save_motion",
    "save_skeleton",
    "suffix_of",
    "target_suffixes",
    "with_suffix",
    "writable_suffixes",
    "write_files",
]
