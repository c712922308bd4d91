"""`python -m exactik.recordings.precompile`."""

import sys

from exactik.recordings.precompile import compile_parts

if __name__ == "__main__":
    compile_parts(sys.argv[1:])
