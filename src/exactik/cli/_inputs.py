"""Which recordings the arguments of a command mean."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path

from exactik.errors import FileError
from exactik.io import readable_suffixes, suffix_of
from exactik.io.formats import NPZ

__all__ = ["find_recordings"]


def find_recordings(given: Sequence[str]) -> list[Path]:
    """Return the recordings that names, patterns and folders mean; each once."""
    paths: list[Path] = []
    known = readable_suffixes("markers")
    for name in given:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if suffix_of(p) in known)
            inside = [p for p in inside if suffix_of(p) != NPZ.suffix]
            if len(inside) == 0:
                raise FileError(name, f"no recording in it; expected one of {' '.join(known)}")
            paths += inside
        elif has_magic(name) and not path.exists():
            matches = sorted(map(Path, glob(name, recursive=True)))
            if len(matches) == 0:
                raise FileError(name, "no file fits this pattern")
            paths += matches
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))
