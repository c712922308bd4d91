"""Compile kernels before they are needed, into the cache: once per installation.

    python -m exactik.recordings.precompile [poses] [recordings] [error-bars]

Without arguments it compiles what solves poses, which takes most of a minute. Nothing is compiled
twice: of several such processes one works and the others wait for it.
"""

from exactik.recordings.precompile._parts import (
    compile_missing,
    compile_parts,
    list_missing,
    one_at_a_time,
    precompile_error_bars,
    precompile_poses,
    precompile_recordings,
    waiting_for_compiler,
)

__all__ = [
    "compile_missing",
    "compile_parts",
    "list_missing",
    "one_at_a_time",
    "precompile_error_bars",
    "precompile_poses",
    "precompile_recordings",
    "waiting_for_compiler",
]
