"""`python -m exactik.precompile`."""

import sys

from exactik.precompile import compile_parts

if __name__ == "__main__":
    compile_parts(sys.argv[1:])
