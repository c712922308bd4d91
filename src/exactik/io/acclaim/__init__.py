"""The Acclaim formats: skeletons in ASF files, their motions in AMC files.

The readers are written by hand, as no maintained library reads these formats, and the scripts
around them neither bound a hostile file nor say in which line it is wrong.
"""

from exactik.io.acclaim._amc_read import outline_amc, read_amc
from exactik.io.acclaim._asf_read import read_asf
from exactik.io.acclaim._skeleton import AcclaimSkeleton, choose_asf_unit, encode_name
from exactik.io.acclaim._write import write_amc, write_asf
