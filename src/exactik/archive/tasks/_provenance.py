"""Outputs with their provenance: a JSON file beside them, written last, which makes them valid.

A request is what is asked (figure, options, solver), a key that and the bytes of the input. The
same key means the same bits on one type of processor.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from exactik._version import __version__
from exactik.archive.tasks._storage import Storage, hash_file
from exactik.archive.tasks._worker import TaskResult
from exactik.io import open_atomic
from exactik.studio.report import collect_versions

FORMAT = 1  # of the file


@cache
def _versions() -> dict[str, str]:
    """Return the versions, looked up once: that takes as long as a small take."""
    return collect_versions()


def read_provenance(storage: Storage, name: str) -> dict[str, Any] | None:
    """Return the provenance of a take, None if it has none."""
    found = storage.read_json(f"{name}.json")
    return found if found is not None and found.get("format") == FORMAT else None


def find_result(storage: Storage, found: Mapping[str, Any] | None, key: str) -> TaskResult | None:
    """Return the result that is there under a key, with all its outputs; else None."""
    if found is None or found["key"] != key:
        return None
    for output, facts in found["outputs"].items():
        if storage.size_of(output) != facts["bytes"]:
            return None
    return TaskResult(**found["result"])


def publish_result(
    storage: Storage,
    name: str,
    staged: Sequence[Path],
    result: TaskResult,
    facts: Mapping[str, Any],
) -> TaskResult:
    """Give staged files their names, write what they came from, remove what was there before.

    Args:
        storage: where.
        name: of the take, with folders.
        staged: its files, in one staging folder.
        result: how it ended; kept for whoever finds it done.
        facts: input, figure, options and solver.

    Returns:
        The result, or the one that another process published meanwhile.
    """
    # A process that was taken for dead may have finished the same take.
    assert result.key is not None
    before = read_provenance(storage, name)
    other = find_result(storage, before, result.key)
    if other is not None:
        return other
    folder = name.rpartition("/")[0]
    names = {path: f"{folder}/{path.name}" if folder != "" else path.name for path in staged}
    outputs = {
        names[path]: {"sha256": hash_file(path), "bytes": path.stat().st_size} for path in staged
    }
    kept = asdict(result) | {"solved": False}
    provenance = {
        "format": FORMAT,
        "name": name,
        "key": result.key,
        **facts,
        "versions": _versions(),
        "machine": describe_machine(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": result.seconds,
        "verdict": result.verdict,
        "outputs": outputs,
        "result": kept,
    }
    note = staged[0].parent / f"{name.rpartition('/')[2]}.json"
    with open_atomic(note) as file:
        json.dump(provenance, file, indent=1)
    if before is not None:
        # Of another input or other options. Its provenance goes before its files are written over:
        # a process that dies in between must not leave it beside files that are not its own.
        for output in before["outputs"]:
            if output not in outputs:
                storage.remove(output)
        storage.withdraw(f"{name}.json")
    for path in staged:
        storage.publish(path, names[path])
    storage.publish(note, f"{name}.json")
    return result


def hash_facts(facts: Any) -> str:
    """Return the SHA-256 of plain data, whatever the order of its names."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def solver_version() -> str:
    """Return the version of what solves."""
    return __version__


@cache
def describe_machine() -> dict[str, Any]:
    """Return what bits may depend on beside the key: the type of processor, which LLVM names."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    return {
        "host": platform.node(),
        "processor": llvm.get_host_cpu_name(),
        "features": hashlib.sha256(features.encode()).hexdigest()[:16],
        "system": platform.platform(),
        "cores": os.cpu_count(),
    }
