"""The takes of an archive, one after the other: from folders, patterns, manifests and addresses.

Nothing is kept: a million takes are listed in the memory of one folder. An address is a local path
or anything that fsspec knows ("s3://bucket/takes"). A manifest is a .csv or .jsonl file with a row
a take: `take` (its address, from the manifest's folder), and as wanted `name`, `subject`,
`calibrate` (whether its subject is calibrated on it), `skeleton` with `skeleton_up` and
`skeleton_unit`, and options of `TakeOptions`.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import has_magic, iglob
from pathlib import Path
from typing import Any

from exactik.archive.tasks import fingerprint_of, is_remote, make_name, open_file_system
from exactik.errors import FileError, UsageError
from exactik.io import readable_suffixes, suffix_of
from exactik.io.formats import NPZ, Content

MANIFESTS = (".csv", ".jsonl", ".ndjson")
OWN_COLUMNS = (
    "take",
    "name",
    "subject",
    "calibrate",
    "skeleton",
    "skeleton_up",
    "skeleton_unit",
)
LISTED_FOLDERS = 8
"""Remote folders whose listings are kept while a manifest is read; its rows mostly go by folder."""
TRUE_WORDS = ("1", "true", "yes", "x")


@dataclass(frozen=True, kw_only=True)
class SkeletonSource:
    """A figure as it was given."""

    file: str  # its file, or "human"
    up: str | None = None  # which axis is up, in place of what is customary for the file
    # Of length, its name or metres in it, in place of what the file says
    unit: str | float | None = None


@dataclass(frozen=True, kw_only=True)
class ListedTake:
    """A recording that is to be solved."""

    name: str  # of its outputs, with folders, without suffix
    address: str  # a path, or what fsspec takes
    # Whose figure is calibrated once for all takes; None for a take by itself
    subject: str | None = None
    calibrates: bool = False  # whether the subject is calibrated on this take
    # The figure in place of the archive's; None for that one
    skeleton: SkeletonSource | None = None
    # Those of this take, by name, see `TakeOptions.changed`
    options: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""  # changes when the file does, see `fingerprint_of`; "" if nobody asked


def list_takes(
    sources: Sequence[str], *, subjects: bool = False, content: Content = "markers"
) -> Iterator[ListedTake]:
    """Yield the takes of all sources, in the order of their names within a folder.

    Args:
        sources: folders (with all below), patterns, manifests, files; local or addresses.
        subjects: whether the folder of a take names its subject.
        content: "markers" for recordings, or "motion".
    """
    known = readable_suffixes(content)
    # In a folder of recordings it may be a figure or a motion; by its name or a pattern it counts.
    listed = tuple(s for s in known if content == "motion" or s != NPZ.suffix)
    for source in map(str, sources):
        if suffix_of(source) in MANIFESTS:
            yield from _read_manifest(source)
            continue
        list_files = _list_remote if is_remote(source) else _list_local
        found = list_files(source, known, listed)
        prefix = _prefix_of(source, known) if len(sources) > 1 else ""
        count = 0
        for relative, address, fingerprint in found:
            count += 1
            name = make_name(f"{prefix}{relative}")
            folder = name.rpartition("/")[0] if subjects else ""
            yield ListedTake(
                name=name, address=address, fingerprint=fingerprint, subject=folder or None
            )
        if count == 0:
            what = "recording" if content == "markers" else "motion"
            text = f"no {what} in it; expected {' '.join(known)}"
            raise FileError(source, text, code="no-recording")


def _prefix_of(source: str, known: Sequence[str]) -> str:
    """Return what tells the takes of one source from those of another: its last plain folder."""
    plain = source.split("://")[-1].rstrip("/")
    while has_magic(plain) or suffix_of(plain) in known:
        plain = os.path.dirname(plain)
    last = os.path.basename(plain)
    return f"{last}/" if last not in ("", ".", "..") else ""


def _list_local(
    source: str, known: Sequence[str], listed: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield name below the source, path and fingerprint of each recording."""
    path = Path(source)
    if path.is_dir():
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(file for file in files if suffix_of(file) in listed):
                file = os.path.join(folder, name)
                yield os.path.relpath(file, path), file, _local_fingerprint(file)
    elif has_magic(source) and not path.exists():
        root = _plain_root(source)
        for file in sorted(iglob(source, recursive=True)):
            if suffix_of(file) in known:
                yield os.path.relpath(file, root), file, _local_fingerprint(file)
    elif path.exists():
        yield path.name, source, _local_fingerprint(source)
    else:
        raise FileError(source, "no such file or folder", code="missing")


def _plain_root(pattern: str) -> str:
    """Return the folder in front of the first pattern."""
    root = os.path.dirname(pattern)
    while has_magic(root):
        root = os.path.dirname(root)
    return root or "."


def _local_fingerprint(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""  # it went away; the worker says so
    return fingerprint_of({"size": found.st_size, "mtime": found.st_mtime_ns})


def _list_remote(
    source: str, known: Sequence[str], listed: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    files, root = open_file_system(source)
    scheme = source.split("://")[0]
    try:
        if has_magic(root):
            found = files.glob(root, detail=True)
            base = _plain_root(root)
            infos = [found[path] for path in sorted(found)]
        elif files.isfile(root):
            base, infos = os.path.dirname(root), [files.info(root)]
        else:
            base, infos = root, _walk_remote(files, root)
        for info in infos:
            path = str(info["name"])
            wanted = known if has_magic(root) else listed
            if info.get("type") == "file" and suffix_of(path) in wanted:
                relative = os.path.relpath(path, base)
                yield relative, f"{scheme}://{path}", fingerprint_of(info)
    except FileNotFoundError:
        raise FileError(source, "no such file or folder", code="missing") from None
    except Exception as error:
        raise FileError(source, f"cannot be listed: {error}", code="storage") from error


def _walk_remote(files: Any, root: str) -> Iterator[Mapping[str, Any]]:
    for _, _, here in files.walk(root, detail=True):
        for name in sorted(here):
            yield here[name]


def _read_manifest(source: str) -> Iterator[ListedTake]:
    """Yield the rows of a manifest, read line by line."""
    files, path = open_file_system(source)
    folder = source.replace(os.sep, "/").rpartition("/")[0]
    fingerprints = _Fingerprints()
    try:
        with files.open(path, "r", encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines) if suffix_of(source) == ".csv" else _json_rows(lines)
            for n, row in enumerate(rows, start=2 if suffix_of(source) == ".csv" else 1):
                yield _take_of_row(row, folder, f"{source}: line {n}", fingerprints)
    except FileNotFoundError:
        raise FileError(source, "no such manifest", code="missing") from None
    except json.JSONDecodeError as error:
        raise FileError(source, f"not JSON lines: {error.msg}; expected an object a line") from None


class _Fingerprints:
    """Fingerprints of single files, which a manifest names; remote ones a folder at a time.

    One request a file would take an hour for a hundred thousand; a folder is listed a thousand
    files a request.
    """

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, str] | None] = {}

    def find(self, address: str) -> str:
        """Return the fingerprint of a file; "" if nobody can tell, then its bytes are hashed."""
        if not is_remote(address):
            return _local_fingerprint(address)
        folder = address.rpartition("/")[0]
        if folder not in self._folders:
            if len(self._folders) == LISTED_FOLDERS:
                del self._folders[next(iter(self._folders))]
            self._folders[folder] = self._list(folder)
        return (self._folders[folder] or {}).get(address.rpartition("/")[2], "")

    def _list(self, folder: str) -> dict[str, str] | None:
        try:
            files, root = open_file_system(folder)
            found = files.ls(root, detail=True)
        except UsageError:
            raise
        except Exception:  # storage that lists nothing, or does not answer: workers tell
            return None
        return {
            str(info["name"]).rstrip("/").rpartition("/")[2]: fingerprint_of(info)
            for info in found
            if info.get("type") == "file"
        }


def _json_rows(lines: Any) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip() != "":
            yield json.loads(line)


def _take_of_row(
    row: Mapping[str, Any], folder: str, place: str, fingerprints: _Fingerprints
) -> ListedTake:
    given = {
        key: value for key, value in row.items() if value not in (None, "") and key is not None
    }
    address = given.get("take")
    if not isinstance(address, str):
        raise FileError(place, "no take; expected a column `take` with a file or an address")
    name = make_name(str(given.get("name") or address.split("://")[-1].lstrip("./")))
    address = _from_folder(address, folder)
    nested = given.pop("options", {})
    options = dict(nested) if isinstance(nested, Mapping) else _parse_value(nested)
    options |= {k: _parse_value(v) for k, v in given.items() if k not in OWN_COLUMNS}
    return ListedTake(
        name=name,
        address=address,
        subject=None if "subject" not in given else str(given["subject"]),
        calibrates=str(given.get("calibrate", "")).lower() in TRUE_WORDS,
        skeleton=_skeleton_of_row(given, folder, place),
        options=options,
        fingerprint=fingerprints.find(address),
    )


def _skeleton_of_row(given: Mapping[str, Any], folder: str, place: str) -> SkeletonSource | None:
    if "skeleton" not in given:
        if "skeleton_up" in given or "skeleton_unit" in given:
            raise FileError(place, "skeleton_up or skeleton_unit without a skeleton")
        return None
    up = given.get("skeleton_up")
    return SkeletonSource(
        file=_from_folder(str(given["skeleton"]), folder, words=("human",)),
        up=None if up is None else str(up),
        unit=_parse_value(given.get("skeleton_unit")),
    )


def _from_folder(address: str, folder: str, words: Sequence[str] = ()) -> str:
    if address in words or is_remote(address) or os.path.isabs(address) or folder == "":
        return address
    return f"{folder}/{address}"


def _parse_value(value: Any) -> Any:
    """Return what a cell of a table means: a number, a list, true; or the text itself."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value
