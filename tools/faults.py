"""Faults made in a module's source: constants ten times as large or small, calls left out,
comparisons turned.

Used by tools/mutants.py. A fault is one replacement of a piece of text; nothing is written to disk.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

__all__ = ["KINDS", "Fault", "find_faults", "make_named_fault", "sample_faults"]

KINDS = ("named", "constant", "literal", "stage", "comparison")
# Calls without which nothing but a progress bar changes.
PROGRESS_CALLS = {"finish", "report_frames", "report_progress", "progress", "report"}
TURNED = {
    ast.Lt: ("<", ">="),
    ast.GtE: (">=", "<"),
    ast.Gt: (">", "<="),
    ast.LtE: ("<=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


@dataclass(frozen=True)
class Fault:
    """One deliberate fault.

    Attributes:
        module: dotted name, "exactik.recordings.tracking._track".
        name: what is wrong, the same as long as that line is: "track: without unwrap_path(…)".
        kind: one of `KINDS`.
        line: number of it.
        start: first byte that is replaced.
        end: byte after the last.
        text: that stands there instead.
    """

    module: str
    name: str
    kind: str
    line: int
    start: int
    end: int
    text: str

    @property
    def key(self) -> str:
        """Name of it among the faults of all modules."""
        return f"{self.module.removeprefix('exactik.')}: {self.name}"

    def apply(self, source: str) -> str:
        """Return the source of the module with the fault in it."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()


class Number(NamedTuple):
    """A constant of a module, and where it is."""

    label: str
    node: ast.expr


def find_faults(module: str, path: Path, *, literals: bool = False) -> list[Fault]:
    """Return all faults of a module, in the order of its text.

    Args:
        module: dotted name.
        path: its file.
        literals: whether numbers inside functions count.
    """
    source = path.read_text("utf-8")
    finder = _Finder(module, source)
    tree = ast.parse(source)
    faults = [*finder.constants(tree), *finder.statements(tree), *finder.comparisons(tree)]
    if literals:
        faults += finder.literals(tree)
    seen: Counter[str] = Counter()
    numbered = []
    for fault in sorted(faults, key=lambda fault: (fault.start, fault.name)):
        seen[fault.name] += 1
        count = seen[fault.name]
        numbered.append(fault if count == 1 else replace(fault, name=f"{fault.name} (no. {count})"))
    return numbered


def make_named_fault(module: str, path: Path, old: str, new: str) -> Fault:
    """Return the fault of a text that a module has once standing otherwise."""
    source = path.read_text("utf-8")
    if source.count(old) != 1:
        raise SystemExit(f"{module} has {source.count(old)} times {old!r}; it should have one")
    start = len(source[: source.index(old)].encode())
    line = source[: source.index(old)].count("\n") + 1
    name = f"{old} → {new}"
    return Fault(module, name, "named", line, start, start + len(old.encode()), new)


def sample_faults(faults: list[Fault], comparisons: int, seed: int) -> list[Fault]:
    """Return all constants and stages, and of the comparisons of each module at most so many."""
    chosen: list[Fault] = []
    for module in dict.fromkeys(fault.module for fault in faults):
        own = [fault for fault in faults if fault.module == module]
        turned = [fault for fault in own if fault.kind == "comparison"]
        if len(turned) > comparisons:
            turned = random.Random(f"{seed} {module}").sample(turned, comparisons)
        chosen += [fault for fault in own if fault.kind != "comparison" or fault in turned]
    return chosen


class _Finder:
    """Finds places in one source and writes what stands there instead."""

    def __init__(self, module: str, source: str):
        self.module = module
        self.data = source.encode()
        self.line_starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.line_starts.append(self.line_starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.line_starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self.line_starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return " ".join(self.data[start:end].decode().split())

    def make(self, node: ast.AST, kind: str, name: str, text: str) -> Fault:
        start, end = self.span(node)
        line = node.lineno  # type: ignore[attr-defined]
        return Fault(self.module, name, kind, line, start, end, text)

    # --- constants

    def constants(self, tree: ast.Module) -> Iterator[Fault]:
        """Of the module, defaults of classes and of arguments: ten times as large and small."""
        for node, scope in _walk_scopes(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                if _is_function(scope):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                label = ", ".join(self.text(target) for target in targets)
                prefix = f"{scope[-1][1]}." if scope else ""
                yield from self._of_value(node.value, prefix + label)
            elif isinstance(node, ast.FunctionDef):
                arguments = node.args
                named = [*arguments.posonlyargs, *arguments.args]
                first = len(named) - len(arguments.defaults)
                pairs = [
                    *zip(named[first:], arguments.defaults, strict=True),
                    *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
                ]
                for argument, default in pairs:
                    if default is not None:
                        yield from self._of_value(default, f"{node.name}({argument.arg})")

    def _of_value(self, value: ast.expr, label: str) -> Iterator[Fault]:
        for number in _find_numbers(value, label):
            for name, text in self._write_others(number.node):
                yield self.make(number.node, "constant", f"{number.label} {name}", text)

    def _write_others(self, node: ast.expr) -> list[tuple[str, str]]:
        value = ast.literal_eval(node) if isinstance(node, ast.Constant) else None
        text = self.text(node)
        if isinstance(value, bool):
            return [(f"{value} → {not value}", str(not value))]
        if value == 0:
            return [(f"{text} → 1", "1" if isinstance(value, int) else "1.0")]
        if isinstance(value, int):  # a tenth of 1 is 0, of 2 to 19 it is 1
            tenth = max(value // 10, 1) if value > 1 else 0
            return [(f"{text} → {10 * value}", str(10 * value)), (f"{text} → {tenth}", str(tenth))]
        if isinstance(value, float):
            return [(f"{text} × 10", f"({text} * 10)"), (f"{text} ÷ 10", f"({text} / 10)")]
        return [(f"({text}) × 10", f"(({text}) * 10)"), (f"({text}) ÷ 10", f"(({text}) // 10)")]

    def literals(self, tree: ast.Module) -> Iterator[Fault]:
        """Numbers inside functions, but for 0 and 1: ten times as large and small."""
        for node, scope in _walk_scopes(tree):
            if not _is_function(scope) or not isinstance(node, ast.stmt):
                continue
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            own = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            for number in (number for part in own for number in ast.walk(part)):
                if not isinstance(number, ast.Constant) or not isinstance(number.value, float):
                    continue
                if number.value in (0.0, 1.0):
                    continue
                for name, text in self._write_others(number):
                    label = f"{scope[-1][1]}: {name} in {self.text(node)[:60]}"
                    yield self.make(number, "literal", label, text)

    # --- calls left out

    def statements(self, tree: ast.Module) -> Iterator[Fault]:
        """Calls whose result is not used, and those that replace what they are given."""
        for node, scope in _walk_scopes(tree):
            if not _is_function(scope) or not isinstance(node, ast.stmt):
                continue
            where = scope[-1][1]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = _last_name(node.value.func)
                if called not in PROGRESS_CALLS:
                    name = f"{where}: without {self.text(node.value.func)}(…)"
                    yield self.make(node, "stage", name, "pass")
            elif isinstance(node, ast.Assign) and _replaces_its_argument(node):
                assert isinstance(node.value, ast.Call)
                name = f"{where}: without {self.text(node.value.func)}(…)"
                yield self.make(node, "stage", name, "pass")
            elif isinstance(node, ast.AugAssign):
                name = f"{where}: without {self.text(node)[:60]}"
                yield self.make(node, "stage", name, "pass")

    # --- comparisons turned

    def comparisons(self, tree: ast.Module) -> Iterator[Fault]:
        """Less and not less, equal and not, and and or."""
        for node, scope in _walk_scopes(tree):
            if not _is_function(scope):
                continue
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                for k, operator in enumerate(node.ops):
                    yield from self._turn(node, operator, sides[k], sides[k + 1], scope)
            elif isinstance(node, ast.BoolOp):
                yield from self._turn(node, node.op, node.values[0], node.values[1], scope)
            elif isinstance(node, ast.BinOp):
                yield from self._turn(node, node.op, node.left, node.right, scope)

    def _turn(
        self,
        node: ast.expr,
        operator: ast.AST,
        left: ast.expr,
        right: ast.expr,
        scope: list[tuple[type, str]],
    ) -> Iterator[Fault]:
        if type(operator) not in TURNED:
            return
        old, new = TURNED[type(operator)]
        between = self.span(left)[1], self.span(right)[0]
        start = between[0] + self.data[between[0] : between[1]].index(old.encode())
        shown = self.text(node)
        shown = shown if len(shown) <= 70 else shown[:69] + "…"
        name = f"{scope[-1][1]}: {shown}: {old} → {new}"
        line = node.lineno
        yield Fault(self.module, name, "comparison", line, start, start + len(old), new)


def _walk_scopes(tree: ast.AST) -> Iterator[tuple[ast.AST, list[tuple[type, str]]]]:
    """Yield every node with the classes and functions around it; annotations are left out."""

    def visit(
        node: ast.AST, scope: list[tuple[type, str]]
    ) -> Iterator[tuple[ast.AST, list[tuple[type, str]]]]:
        yield node, scope
        inner = scope
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            inner = [*scope, (type(node), node.name)]
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from visit(child, inner)

    yield from visit(tree, [])


def _is_function(scope: list[tuple[type, str]]) -> bool:
    return any(kind is ast.FunctionDef for kind, _ in scope)


def _find_numbers(value: ast.expr, label: str) -> Iterator[Number]:
    """Yield numbers and truth values of a constant, those inside tuples, dicts and calls too."""
    if isinstance(value, ast.Constant):
        if isinstance(value.value, bool | int | float):
            yield Number(label, value)
    elif isinstance(value, ast.UnaryOp):
        yield from _find_numbers(value.operand, label)
    elif isinstance(value, ast.BinOp):
        numbers = [node for node in ast.walk(value) if isinstance(node, ast.Constant)]
        if len([node for node in ast.walk(value) if isinstance(node, ast.Name)]) == 0:
            yield Number(label, value)  # 10**6, 1 << 15
        elif len(numbers) > 0:
            yield from _find_numbers(numbers[0], label)
    elif isinstance(value, ast.Tuple | ast.List):
        for k, element in enumerate(value.elts):
            yield from _find_numbers(element, f"{label}[{k}]")
    elif isinstance(value, ast.Dict):
        for key, element in zip(value.keys, value.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else "…"
            yield from _find_numbers(element, f"{label}[{name!r}]")
    elif isinstance(value, ast.Call):
        if _last_name(value.func) == "range":
            return  # names for numbers: with another count of them nothing can be imported
        for k, argument in enumerate(value.args):
            yield from _find_numbers(argument, f"{label}({k})")
        for keyword in value.keywords:
            yield from _find_numbers(keyword.value, f"{label}({keyword.arg})")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _replaces_its_argument(node: ast.Assign) -> bool:
    """Whether a call is given what it is assigned to, so that without it the old value stays."""
    if not isinstance(node.value, ast.Call):
        return False
    target = node.targets[0]
    first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) > 0 else target
    given = {arg.id for arg in node.value.args if isinstance(arg, ast.Name)}
    return isinstance(first, ast.Name) and first.id in given
