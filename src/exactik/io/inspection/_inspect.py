"""What is in a file, whichever kind it is, and what is odd about it; nothing is printed here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exactik.errors import FileError, FileWarning
from exactik.io._load import MARKERS, MOTIONS, SKELETONS, load_markers, load_motion, load_skeleton
from exactik.io.inspection._facts import Facts
from exactik.io.inspection._figures import (
    facts_of_figure,
    facts_of_motion,
    facts_of_moves,
    facts_of_skeleton,
)
from exactik.io.inspection._markers import facts_of_markers

__all__ = ["READABLE", "inspect_file"]

READABLE = tuple(sorted({*MARKERS, *MOTIONS, *SKELETONS}))


def inspect_file(
    path: str | os.PathLike[str],
    *,
    skeleton: str | os.PathLike[str] | None = None,
    length_unit: str | float | None = None,
) -> Facts:
    """Return what is in a file and what is odd about it.

    Args:
        path: any file that exactik reads.
        skeleton: file of the skeleton of a .amc, .mot or .sto. Without it an .asf beside an .amc is
            taken if only one can be meant; else only part is told.
        length_unit: in place of what the file says; without it the unit of a BVH file is guessed.

    Raises:
        FileError: the file cannot be read.
    """
    path = os.fspath(path)
    other = None if skeleton is None else os.fspath(skeleton)
    suffix = Path(path).suffix.lower()
    if suffix not in READABLE:
        found = suffix or "names without suffix"
        raise FileError(path, f"no reader for {found}; expected one of {' '.join(READABLE)}")
    said: list[str] = []
    with _collected(path, said):
        if suffix == ".npz":
            return _npz(path, said)
        if suffix in MARKERS:
            return facts_of_markers(path, load_markers(path, length_unit=length_unit), said)
        if suffix in (".amc", ".mot", ".sto"):
            return facts_of_moves(path, other, length_unit, said)
        if suffix in MOTIONS:
            return facts_of_figure(path, length_unit, said)
        return facts_of_skeleton(path, load_skeleton(path, length_unit), said, length_unit)


def _npz(path: str, said: list[str]) -> Facts:
    """Return the facts of a file of our own, which says what it holds."""
    try:
        return facts_of_markers(path, load_markers(path), said)
    except FileError as error:
        if error.message.startswith("holds 'motion'"):
            return facts_of_motion(path, load_motion(path), said)
        if error.message.startswith("holds 'skeleton'"):
            return facts_of_skeleton(path, load_skeleton(path), said)
        raise


@contextmanager
def _collected(path: str, said: list[str]) -> Iterator[None]:
    """Take warnings about files into `said`, without the name of this file; pass on all others."""
    with warnings.catch_warnings():
        show = warnings.showwarning
        warnings.simplefilter("always", FileWarning)

        def take(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, FileWarning):
                said.append(str(message).removeprefix(f"{path}: "))
            else:
                show(message, category, *rest, **more)

        warnings.showwarning = take
        yield
