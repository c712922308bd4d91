"""From signatures to one shared library, in two steps that run side by side.

One process types kernels and generates their code with Numba, and writes a part of some megabytes
whenever it has one. Another optimises parts and makes objects of them. Typing is Python, and takes
as long as the rest.
"""

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

PART_SIZE = 2_500_000
"""Bytes of code in a part: the last one, which nothing runs beside, is small."""


def use_level(level: str) -> None:
    """Let Numba generate code for a level; it asks the environment once, when it is imported."""
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = level, ""


def generate_parts(folder: Path, tell: Callable[[str], None]) -> None:
    """Generate the code of all signatures, as NUMBER.bc and NUMBER.json in the folder.

    Args:
        folder: to write to.
        tell: is called with the name of each function, and with the number of each part written.
    """
    from numba.core.registry import cpu_target

    from exactik.compile.aot._entry import EntryBuilder, numba_type

    signatures, classes = read_signatures()
    context = cpu_target.target_context
    rows: list[dict[str, Any]] = []
    entries: list[Any] = []
    libraries: list[Any] = []
    size = part = 0
    for number, signature in enumerate(signatures):
        module, _, function = signature.kernel.partition(":")
        kernel = getattr(import_module(module), function)
        arguments = tuple(numba_type(kind, classes) for kind in signature.arguments)
        kernel.linked.compile(arguments)
        compiled = kernel.linked.overloads[arguments]
        entry = EntryBuilder(context, f"exactik_{number}", signature.arguments, compiled)
        entries.append(entry.module)
        libraries.append(compiled.library)
        nogil = bool(kernel.options.get("nogil"))
        rows.append({"kernel": signature.kernel, "nogil": nogil, **entry.row})
        size += len(compiled.library._final_module.as_bitcode())
        tell(function)
        if size > PART_SIZE or number == len(signatures) - 1:
            _write_part(folder, part, entries, libraries, rows)
            tell(str(part))
            rows, entries, libraries, size, part = [], [], [], 0, part + 1


def _write_part(
    folder: Path, part: int, entries: list[Any], libraries: list[Any], rows: list[dict[str, Any]]
) -> None:
    from llvmlite import binding

    whole = binding.parse_assembly("")
    for entry in entries:  # first: what nothing refers to is not linked
        whole.link_in(binding.parse_assembly(str(entry)))
    for library in libraries:
        whole.link_in(library._get_module_for_linking(), preserve=True)
    (folder / f"{part}.bc").write_bytes(whole.as_bitcode())
    (folder / f"{part}.json").write_text(json.dumps(rows), "utf-8")


def make_object(level: str, part: int, folder: Path) -> None:
    """Optimise a part and write NUMBER.o, in which nothing but the entries can be seen."""
    from llvmlite import binding
    from numba.core.codegen import AOTCPUCodegen

    codegen = AOTCPUCodegen("exactik", level)
    library = codegen.create_library("kernels")
    library._final_module = binding.parse_bitcode((folder / f"{part}.bc").read_bytes())
    library._final_module.data_layout = codegen._data_layout
    library._optimize_final_module()
    made = library._final_module
    rows = json.loads((folder / f"{part}.json").read_text("utf-8"))
    symbols = {row["symbol"] for row in rows}
    for name in (*made.functions, *made.global_variables):
        if not name.is_declaration and name.name not in symbols:
            name.linkage = "internal"
    (folder / f"{part}.o").write_bytes(codegen._tm.emit_object(made))


def find_linker() -> list[str] | None:
    """Return the command of the machine's C compiler, None if it has none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return None


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
