"""Compile kernels that tests come to late, while the first ones compile others: `make test`.

    python tools/compile_kernels.py

On a bare clone half of the time of the tests is compiling; with a second processor this takes part
of it. What is in the cache already is not compiled again.
"""

from __future__ import annotations

import exactik as ik
from exactik.cli._kernels import compile_other_half


def main() -> None:
    """Compile the step of a descent, error bars, and what solves one pose."""
    compile_other_half()
    ik.solve(ik.human(), [ik.MarkerGoal("LFIN", (0.4, 0.3, 1.2))])


if __name__ == "__main__":
    main()
