"""C3D, the binary format of motion capture (c3d.org).

The reader is written by hand rather than taken from ezc3d. That one refuses what MIPS machines
wrote, files whose parameters are slightly wrong and floats where it expects integers; counts frames
from another number than the file does; and keeps quiet where a file contradicts itself. Here each
of these is read, a file that cannot be is refused in one sentence, and memory is bounded by the
size of the file whatever its numbers claim. It takes NumPy alone. ezc3d is the oracle in the tests.
"""

from exactik.io.c3d._parameters import ENCODINGS
from exactik.io.c3d._read import read_c3d
from exactik.io.c3d._write import write_c3d
