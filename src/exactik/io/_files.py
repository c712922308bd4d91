"""What all formats share: bounded reading, tolerant decoding, atomic writing, numbers and names."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from exactik.errors import FileError

MAX_BYTES = 4 << 30  # [bytes] more than any recording; what is larger is no file of ours
NUMBER_FORMAT = "%.12g"  # a micrometre at a thousand kilometres, a nanoradian after ten turns

# float() also takes 1_000 and "nan", which other readers of these files do not.
NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)
# Some C libraries write -1.#IND00 and 1.#QNAN.
NOT_FINITE_PATTERN = re.compile(
    rb"[+-]?(nan|nan\(ind\)|inf|infinity|1\.#(ind|inf|qnan|snan)0*)", re.I
)
_BLANKED = bytes(32 if byte < 32 and byte != 10 else byte for byte in range(256))


def read_bytes(path: str) -> bytes:
    """Return the contents of a file; what goes wrong is a `FileError`."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileError(path, "not a file")  # a folder, or a pipe that would never end
        if os.path.getsize(path) > MAX_BYTES:
            raise FileError(path, f"larger than {MAX_BYTES >> 30} GiB; expected a recording")
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror or error}") from None
    except ValueError:  # a null character in the name
        raise FileError(path, "cannot be read: no file can have this name") from None


def to_unix_lines(data: bytes) -> bytes:
    """Return the bytes with line feeds as line ends."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def decode_text(data: bytes) -> tuple[str, str]:
    """Return text with line feeds as line ends, and its encoding: UTF-8, Shift-JIS or Latin-1.

    Never fails: every byte means something in Latin-1.
    """
    for encoding in ("utf-8-sig", "shift_jis", "cp1252", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text.replace("\r\n", "\n").replace("\r", "\n"), encoding
    raise AssertionError("latin-1 decodes everything")


def read_text(path: str) -> str:
    """Return the text of a file, with line feeds as line ends."""
    return decode_text(read_bytes(path))[0]


def parse_number(word: str) -> float:
    """Return a decimal number, NaN for anything else."""
    return float(word) if NUMBER_PATTERN.fullmatch(word) is not None else math.nan


def split_lines(data: bytes, start: int = 0) -> Iterator[tuple[int, list[bytes]]]:
    """Run over the lines from a byte on that have words: number, from 1, and words.

    Every byte up to the blank separates words.
    """
    first = data.count(b"\n", 0, start) + 1
    for number, line in enumerate(data[start:].translate(_BLANKED).split(b"\n"), start=first):
        if len(words := line.split()) > 0:
            yield number, words


def parse_numbers(words: Sequence[bytes]) -> list[float] | None:
    """Return decimal numbers, some perhaps not finite; None if a word is no number."""
    if b"_" not in b" ".join(words):  # which float() takes, and no other reader
        try:
            return list(map(float, words))
        except ValueError:
            pass
    numbers = [_parse_word(word) for word in words]
    return None if None in numbers else [x for x in numbers if x is not None]


def _parse_word(word: bytes) -> float | None:
    if NOT_FINITE_PATTERN.fullmatch(word) is not None:
        return math.nan
    number = parse_number(word.decode("ascii", "replace"))
    return None if math.isnan(number) else number


def make_unique(labels: Iterable[str]) -> list[str]:
    """Return unique names: the second "RTHI" is "RTHI#2", empty labels are "*0", "*1", …."""
    labels = list(labels)
    reserved = set(labels) | {""}
    names: dict[str, None] = {}
    last_number: dict[str, int] = {}
    for label in labels:
        name = label
        while name in names or (name != label and name in reserved) or name == "":
            last_number[label] = last_number.get(label, -1 if label == "" else 1) + 1
            name = f"{label or '*'}{'' if label == '' else '#'}{last_number[label]}"
        names[name] = None
    return list(names)


@contextmanager
def open_atomic(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file to be written whole or not at all.

    What is written goes to a temporary file beside it, which takes its place at the end. A reader
    sees the old file or the new one; an interrupted write leaves the old one.

    Args:
        mode: "w" for text (UTF-8, line feeds) or "wb" for bytes.
    """
    path = os.fspath(path)
    folder, name = os.path.split(os.path.abspath(path))
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=folder)
    except OSError as error:
        raise FileError(path, f"cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _choose_permissions(path))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _choose_permissions(path: str) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
