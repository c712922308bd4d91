"""Where takes are read and outputs are written: a folder, or what fsspec reaches.

A file appears under its name whole or not at all: in a folder it is moved there from `.staging`
beside it, in object storage an upload is one operation.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from exactik.errors import FileError, UsageError
from exactik.io import suffix_of

STAGING = ".staging"
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Numbers of errors of a file system that takes nothing more."""
SIGNS_OF_CHANGE = ("etag", "md5", "md5hash", "lastmodified", "updated", "mtime", "created")
"""What file systems of fsspec call a tag or a time, the surest first."""
STORAGE_TRIES = 5
"""Of an operation on remote storage; with the pauses below it bears 7.5 s without an answer."""
FIRST_PAUSE = 0.5  # [s] after the first failure, doubled after each

Answer = TypeVar("Answer")


def is_remote(address: str) -> bool:
    """Whether an address is for fsspec and not a path of this machine."""
    scheme, separator, _ = address.partition("://")
    return separator != "" and scheme != "file" and scheme.replace("+", "").isalnum()


def make_absolute(address: str) -> str:
    """Return an address that means the same in every process."""
    return address if is_remote(address) else os.path.abspath(address)


def open_file_system(address: str) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            "archives need fsspec; in a clone of exactik: pip install '.[cluster]'"
        ) from None
    try:
        # A listing that is kept would hide what other processes write.
        options = {"use_listings_cache": False} if is_remote(address) else {}
        return fsspec.core.url_to_fs(address, **options)
    except ImportError as error:
        raise UsageError(f"{address}: {error}") from None


def fingerprint_of(info: Mapping[str, Any]) -> str:
    """Return a text that changes when a file does: its size, and its tag or time.

    "" if neither is known: a file of the same size may be another.
    """
    known = {key.lower().replace("_", "").replace("-", ""): value for key, value in info.items()}
    changed = next((known[name] for name in SIGNS_OF_CHANGE if known.get(name)), None)
    return "" if changed is None else f"{info.get('size')}-{changed}"


def make_name(relative: str) -> str:
    """Return the name of the outputs of a take: safe in a file system, its folders kept."""
    stem = relative[: -len(suffix_of(relative))] if suffix_of(relative) != "" else relative
    parts = [re.sub(r"[^\w.+-]+", "_", part) for part in stem.replace("\\", "/").split("/")]
    return "/".join(part for part in parts if part.strip(".") != "") or "take"


def hash_file(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def fetch_file(address: str) -> Iterator[Path]:
    """Give the path of a file: its own, or that of a copy that lasts as long as the context."""
    if not is_remote(address):
        if not os.path.isfile(address):
            raise FileError(address, "no such file", code="missing")
        yield Path(address)
        return
    files, path = open_file_system(address)
    with tempfile.TemporaryDirectory(prefix="exactik-") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        try_often(address, "read", lambda: files.get_file(path, copy))
        try:
            yield Path(copy)
        except FileError as error:
            raise (error.about(address) if error.path == copy else error) from None


def try_often(address: str, verb: str, act: Callable[[], Answer]) -> Answer:
    """Do something with remote storage again until it works; missing files are told at once."""
    for n in range(STORAGE_TRIES):
        try:
            return act()
        except FileNotFoundError:
            raise FileError(address, "no such file", code="missing") from None
        except Exception as error:
            if n == STORAGE_TRIES - 1:
                text = f"cannot be {verb}, tried {STORAGE_TRIES} times: {error}"
                raise FileError(address, text, code="storage") from None
            time.sleep(FIRST_PAUSE * 2.0**n)
    raise AssertionError("the last try returns or raises")


class Storage:
    """The place of an archive's outputs."""

    def __init__(self, address: str):
        """Open a folder, or an address that fsspec knows."""
        self.address = address.rstrip("/")
        self.is_remote = is_remote(address)
        self._files: Any = None
        self._root = self.address
        if self.is_remote:
            self._files, self._root = open_file_system(self.address)

    def join(self, name: str) -> str:
        """Return the address of a file in it."""
        return f"{self.address}/{name}"

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return what a JSON file holds, None if there is no such file, or it is damaged."""
        data = self._look(name, Path.read_bytes, lambda path: self._files.cat_file(path))
        try:
            return None if data is None else json.loads(data)
        except ValueError:
            return None

    def size_of(self, name: str) -> int | None:
        """Return the bytes of a file, None if there is none."""
        return self._look(
            name, lambda path: path.stat().st_size, lambda path: int(self._files.info(path)["size"])
        )

    def _look(
        self, name: str, here: Callable[[Path], Answer], remote: Callable[[str], Answer]
    ) -> Answer | None:
        """Return what is seen of a file, None if there is none."""
        try:
            if not self.is_remote:
                return here(Path(self._root, name))
            return self._remote("read", name, remote)
        except FileNotFoundError:
            return None
        except FileError as error:
            if error.code == "missing":
                return None
            raise

    def _remote(self, verb: str, name: str, act: Callable[[str], Answer]) -> Answer:
        return try_often(self.join(name), verb, lambda: act(f"{self._root}/{name}"))

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Give a folder for files that are to be published; it is gone afterwards."""
        above = None
        try:
            if not self.is_remote:
                above = os.path.join(self._root, STAGING)
                os.makedirs(above, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="take-", dir=above)
        except OSError as error:
            raise _storage_fault(self.address, error) from None
        try:
            yield Path(folder)
        except FileError as error:
            name = os.path.basename(error.path)
            is_staged = os.path.dirname(error.path) == folder
            raise (error.about(self.join(name)) if is_staged else error) from None
        except OSError as error:
            raise _storage_fault(self.address, error) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, staged: Path, name: str) -> None:
        """Give a staged file its name, in one step."""
        if self.is_remote:
            self._remote("written", name, lambda path: self._files.put_file(str(staged), path))
            return
        target = os.path.join(self._root, name)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(staged, target)
        except OSError as error:
            raise _storage_fault(target, error) from None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there and that can be done; one that stays is in nobody's way."""
        with suppress(Exception):  # remote file systems have errors of their own
            if self.is_remote:
                self._files.rm_file(f"{self._root}/{name}")
            else:
                os.unlink(os.path.join(self._root, name))

    def withdraw(self, name: str) -> None:
        """Remove a file that must not stay; one that is not there is no fault."""
        if self.is_remote:
            try:
                self._remote("removed", name, self._files.rm_file)
            except FileError as error:
                if error.code != "missing":
                    raise
            return
        target = os.path.join(self._root, name)
        try:
            os.unlink(target)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _storage_fault(target, error) from None

    def clear_staging(self) -> None:
        """Remove what processes left that were killed; nobody may be working."""
        if not self.is_remote:
            shutil.rmtree(os.path.join(self._root, STAGING), ignore_errors=True)


def _storage_fault(address: str, error: OSError) -> FileError:
    code = "no-space" if error.errno in NO_SPACE else "storage"
    return FileError(address, f"cannot be written: {error.strerror or error}", code=code)
