"""From signatures to one shared library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from exactik.compile import _layout
from exactik.compile._library import hash_sources, library_path
from exactik.compile._signatures import read_signatures
from exactik.errors import KernelError


def find_linker() -> list[str] | None:
    """Return the command of the machine's C compiler, None if it has none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return None


def make_object(
    level: str, part: int, parts: int, folder: Path, tell: Callable[[str], None]
) -> None:
    """Compile every `parts`-th signature, the `part`-th the first, into folder/part.o and .json.

    Numba takes the level from the environment before it is imported, so a process makes objects of
    one level.
    """
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = level, ""
    from llvmlite import binding
    from numba.core.codegen import AOTCPUCodegen
    from numba.core.registry import cpu_target

    from exactik.compile.aot._entry import Entry, numba_type

    signatures, classes = read_signatures()
    codegen, context = AOTCPUCodegen("exactik", level), cpu_target.target_context
    entries: list[Entry] = []
    libraries: list[Any] = []
    rows: list[dict[str, Any]] = []
    for number, signature in enumerate(signatures):
        if number % parts != part:
            continue
        module, _, function = signature.kernel.partition(":")
        kernel = getattr(import_module(module), function)
        arguments = tuple(numba_type(kind, classes) for kind in signature.arguments)
        kernel.linked.compile(arguments)
        compiled = kernel.linked.overloads[arguments]
        entry = Entry(context, f"exactik_{number}", signature.arguments, compiled)
        entries.append(entry)
        libraries.append(compiled.library)
        nogil = bool(kernel.options.get("nogil"))
        rows.append({"kernel": signature.kernel, "nogil": nogil, **entry.row})
        tell(function)
    library = codegen.create_library("kernels")
    target = library._final_module
    for entry in entries:  # first: what nothing refers to is not linked
        target.link_in(binding.parse_assembly(str(entry.module)))
    for each in libraries:
        target.link_in(each._get_module_for_linking(), preserve=True)
    target.data_layout = codegen._data_layout
    library._optimize_final_module()
    symbols = {row["symbol"] for row in rows}
    for name in (*target.functions, *target.global_variables):
        if not name.is_declaration and name.name not in symbols:
            name.linkage = "internal"
    target.verify()
    (folder / f"{part}.o").write_bytes(codegen._tm.emit_object(target))
    (folder / f"{part}.json").write_text(json.dumps(rows), "utf-8")


def link_library(level: str, parts: int, folder: Path) -> Path:
    """Link the objects of all parts, and return the path of the library."""
    from llvmlite import binding
    from numba.core.codegen import AOTCPUCodegen

    rows = [r for n in range(parts) for r in json.loads((folder / f"{n}.json").read_text("utf-8"))]
    interface = {"level": level, "sources": hash_sources(), "entries": rows}
    text = json.dumps(interface, separators=(",", ":")).encode()
    escaped = "".join(f"\\{byte:02x}" for byte in text)
    codegen = AOTCPUCodegen("exactik", level)
    data = binding.parse_assembly(
        f"@exactik_layout = global [{_layout.LAYOUT_SIZE} x i64] zeroinitializer\n"
        f"@exactik_interface_size = constant i64 {len(text)}\n"
        f'@exactik_interface = constant [{len(text)} x i8] c"{escaped}"\n'
    )
    data.triple = binding.get_process_triple()
    data.data_layout = codegen._data_layout
    (folder / "data.o").write_bytes(codegen._tm.emit_object(data))
    linker = find_linker()
    if linker is None:
        raise KernelError("no C compiler to link the library with: install one, or set CC")
    path = library_path(level)
    path.parent.mkdir(exist_ok=True)
    objects = [str(folder / f"{name}.o") for name in (*range(parts), "data")]
    flags = ["-Wl,-z,text,-s,--build-id=none"] if os.uname().sysname == "Linux" else []
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".so", delete=False) as made:
        pass
    command = [*linker, "-shared", "-o", made.name, *objects, "-lm", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        Path(made.name).unlink()
        raise KernelError(f"the library could not be linked: {done.stderr.strip()[:400]}")
    Path(made.name).chmod(0o755)
    Path(made.name).replace(path)
    return path
