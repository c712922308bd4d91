"""The steps from signatures to one shared library.

Code is generated in parts of a megabyte or two, and each is optimised by itself. A function that
several parts call is in the first of them; the others see its code, to inline it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from exactik.compile import _layout
from exactik.compile._library import library_path
from exactik.compile._signatures import read_signatures
from exactik.errors import KernelError

PART_SIZE = 1_800_000
"""Bytes of code in a part: many keep all cores busy, few optimise less code twice."""


def generate_parts(folder: Path, numbers: list[int], tell: Callable[[str, bool], None]) -> None:
    """Generate code of signatures, as PART.bc and PART.json in the folder.

    Args:
        folder: to write to.
        numbers: of the signatures in their list.
        tell: is called with the name of each function and False, and of each part and True.
    """
    from llvmlite import binding
    from numba.core.registry import cpu_target

    from exactik.compile._link_only import link_into
    from exactik.compile.aot._entry import EntryBuilder, numba_type

    signatures, classes = read_signatures()
    context = cpu_target.target_context
    size = 0
    rows: list[dict[str, Any]] = []
    entries: list[Any] = []
    modules: dict[Any, Any] = {}
    shared = set[str]()
    for number in numbers:
        signature = signatures[number]
        module, _, function = signature.kernel.partition(":")
        kernel = getattr(import_module(module), function)
        arguments = tuple(numba_type(kind, classes) for kind in signature.arguments)
        kernel.linked.compile(arguments)
        compiled = kernel.linked.overloads[arguments]
        entry = EntryBuilder(context, f"exactik_{number}", signature.arguments, compiled)
        nogil = bool(kernel.options.get("nogil"))
        rows.append({"kernel": signature.kernel, "nogil": nogil, **entry.row})
        entries.append(binding.parse_assembly(str(entry.module)))
        known = len(modules)
        compiled.library.add_needed(modules)
        size += sum(len(module.as_bitcode()) for module in [*modules.values()][known:])
        tell(function, False)
        if size > PART_SIZE or number == numbers[-1]:
            part = str(number)
            whole = link_into(binding.parse_assembly(""), [*entries, *modules.values()])
            _share(whole, {row["symbol"] for row in rows}, shared)
            (folder / f"{part}.bc").write_bytes(whole.as_bitcode())
            (folder / f"{part}.json").write_text(json.dumps(rows), "utf-8")
            tell(part, True)
            rows, entries, modules, size = [], [], {}, 0


def _share(whole: Any, entries: set[str], shared: set[str]) -> None:
    """Leave to earlier parts the functions that they have, and keep for later ones what is new."""
    for function in whole.functions:
        inlined = any(b"alwaysinline" in attribute for attribute in function.attributes)
        if function.is_declaration or function.name in entries or inlined:
            continue
        known = function.name in shared
        function.linkage = "available_externally" if known else "weak_odr"
        shared.add(function.name)


def make_object(level: str, part: str, folder: Path) -> None:
    """Optimise a part and write PART.o; nothing but entries can be seen in the library."""
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
        if name.is_declaration or name.name in symbols:
            continue
        if name.linkage.name == "weak_odr":
            name.visibility = "hidden"  # other parts see it, users of the library do not
        else:
            name.linkage = "internal"
    (folder / f"{part}.o").write_bytes(codegen._tm.emit_object(made))


def find_linker() -> list[str] | None:
    """Return the command of the machine's C compiler, None if it has none."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name.split()
    return None


def link_library(level: str, sources: str, parts: list[str], folder: Path) -> Path:
    """Link the objects of all parts, made from sources of a hash; return the library's path."""
    from llvmlite import binding
    from numba.core.codegen import AOTCPUCodegen

    rows = [r for n in parts for r in json.loads((folder / f"{n}.json").read_text("utf-8"))]
    interface = {"level": level, "sources": sources, "entries": rows}
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
    objects = [str(folder / f"{name}.o") for name in (*parts, "data")]
    flags = ["-Wl,-z,text,-s,--build-id=none"] if sys.platform == "linux" else []
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
