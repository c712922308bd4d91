"""ASF and AMC files."""

from exactik.io.acclaim._amc import read_amc
from exactik.io.acclaim._amc_write import write_amc
from exactik.io.acclaim._asf import read_asf
from exactik.io.acclaim._asf_write import AcclaimSkeleton, choose_asf_unit, write_asf

__all__ = [
    "AcclaimSkeleton",
    "choose_asf_unit",
    "read_amc",
    "read_asf",
    "write_amc",
    "write_asf",
]
