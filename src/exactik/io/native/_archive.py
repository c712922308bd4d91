"""The archive of an NPZ file: a zip of NumPy arrays, and a JSON text, the entry "about".

Nothing in it is executed on reading, and nothing is allocated because an array claims to be large:
its bytes have to be there.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from exactik.errors import FileError
from exactik.io._files import open_atomic
from exactik.io._notes import Notes
from exactik.io._npz_arrays import ARCHIVE_ERRORS, AnyArray, NpzFile

FORMAT = "exactik 1"


def write_archive(path: str, contents: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Write contents that JSON can hold, and arrays by name."""
    text = json.dumps({"format": FORMAT, **contents}, ensure_ascii=False)
    with open_atomic(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, about=np.array(text), **arrays)


def read_archive(
    path: str, notes: Notes, kinds: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return contents and arrays of a file of one of these kinds."""
    try:
        file = NpzFile(path, notes, "a file that exactik wrote; expected its .npz")
        arrays = {name: file.read(name) for name in file.names}
        contents = json.loads(_decode_text(arrays.pop("about")))
    except FileError:
        raise
    except ARCHIVE_ERRORS:
        raise notes.error("not a file that exactik wrote; expected its .npz") from None
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise notes.error(f"not a file that exactik wrote; expected format {FORMAT!r}")
    if contents.get("kind") not in kinds:
        raise notes.error(
            f"holds {contents.get('kind')!r}; expected {' or '.join(kinds)}", code="wrong-kind"
        )
    return contents, arrays


def _decode_text(array: AnyArray) -> str:
    """Return the text in an array; `str` would raise on numbers that are no character."""
    order = "be" if array.dtype.str[0] == ">" else "le"
    return array.tobytes().decode(f"utf-32-{order}", "surrogatepass").rstrip("\0")
