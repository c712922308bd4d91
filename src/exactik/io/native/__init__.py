"""NPZ files of exactik: everything that skeletons, motions and markers hold, without loss.

Written by `numpy.savez_compressed`, but read by hand: `numpy.load` allocates what the header of an
array claims before it looks at the bytes.
"""

from exactik.io.native._npz import (
    read_npz_content,
    read_npz_markers,
    read_npz_metadata,
    read_npz_motion,
    read_npz_skeleton,
    read_npz_up_axis,
    write_npz_markers,
    write_npz_motion,
    write_npz_skeleton,
)
