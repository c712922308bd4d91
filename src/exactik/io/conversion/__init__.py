"""One file to another, and what that loses."""

from exactik.io.conversion._convert import (
    Conversion,
    choose_unit,
    convert,
    files_to_write,
    target_suffixes,
    write_files,
)
from exactik.io.conversion._source import ConvertOptions, find_skeleton_beside, find_up_axis
