"""Count what the tree does against the rules of its layout.

python tools/house.py [ROOT]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("src/exactik", "papers/src/exactik_papers")
SMALL = 110  # lines under which a module with one importer should live with it
LARGEST_FOLDER = 15  # modules

_ON_GOALS = re.compile(r"isinstance\([^)]*Goal\b|\bcase \w*Goal\(")
_PROSE = re.compile(
    r"\.message\.(?:startswith|endswith|find|partition|replace|removeprefix)"
    r"|\bin (?:error|note|warning)\.(?:message|text)\b|\bin str\((?:error|note|warning)\)"
    r"|str\((?:error|note|warning)\)\.\w+\("
    r"|(?:reason|text|note)\.(?:startswith|endswith)"
    r"|(?:\[\"text\"\]|\b(?:message|note|reason))\.r?partition\("
    r"|re\.\w+\([^\n]*\b(?:note|error|warning|message)\b"
)


class Tree:
    """The modules of a checkout, parsed."""

    def __init__(self, root: Path):
        self.sources: dict[str, Path] = {}
        for package in PACKAGES:
            base = (root / package).parent
            for path in sorted((root / package).rglob("*.py")):
                parts = path.relative_to(base).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                self.sources[name] = path
        self.text = {name: path.read_text("utf-8") for name, path in self.sources.items()}
        self.parsed = {name: ast.parse(text) for name, text in self.text.items()}

    def imports(self, name: str) -> Iterator[tuple[int, str, str]]:
        """Line, module and name of everything that a module takes from our packages."""
        for node in ast.walk(self.parsed[name]):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("exactik"):
                for alias in node.names:
                    yield node.lineno, node.module or "", alias.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.startswith("exactik"):
                        yield node.lineno, alias.name, ""


def layout_splats(tree: Tree) -> list[str]:
    """Literals unpacked where they stand, `*(a, b)` or `**{"c": d}`: they please a formatter."""
    found = []
    for name, parsed in tree.parsed.items():
        for node in ast.walk(parsed):
            unpacked: list[ast.expr] = []
            if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
                unpacked.append(node.value)
            if isinstance(node, ast.keyword) and node.arg is None:
                unpacked += [node.value] if isinstance(node.value, ast.Dict) else []
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                unpacked += [v for k, v in pairs if k is None and isinstance(v, ast.Dict)]
            found += [f"{name}:{value.lineno}" for value in unpacked]
    return found


def private_imports(tree: Tree) -> list[str]:
    """Imports of `_modules` or `_names` from outside the folder that they are private to."""
    found = []
    for name in tree.sources:
        for line, module, imported in tree.imports(name):
            parts = [*module.split("."), *([imported] if imported else [])]
            for k, part in enumerate(parts):
                if not part.startswith("_") or part.startswith("__"):
                    continue
                owner = ".".join(parts[:k])
                inside = name == owner or name.startswith(f"{owner}.")
                if tree.sources.get(owner, Path("x")).name != "__init__.py":
                    inside = name == owner  # a name of a module, not a module of a package
                if not inside:
                    found.append(f"{name}:{line}: {'.'.join(parts)}")
                break
    return found


def prose_as_protocol(tree: Tree) -> list[str]:
    """Lines that decide by the English of a message."""
    return [
        f"{name}:{n}: {line.strip()}"
        for name, text in tree.text.items()
        for n, line in enumerate(text.splitlines(), 1)
        if _PROSE.search(line)
    ]


def goal_switches(tree: Tree) -> list[str]:
    """Switches on the type of a goal outside `goals`; the oracle shares no code by design."""
    return [
        f"{name}:{n}: {line.strip()}"
        for name, text in tree.text.items()
        if name.split(".")[1:2] not in (["goals"], ["check"], ["oracle"])
        for n, line in enumerate(text.splitlines(), 1)
        if _ON_GOALS.search(line)
    ]


def folder_sizes(tree: Tree) -> Counter[str]:
    """Number of modules in each folder."""
    return Counter(
        ".".join(name.split(".")[: None if path.name == "__init__.py" else -1])
        for name, path in tree.sources.items()
    )


def oversized_folders(tree: Tree) -> list[str]:
    """Folders with more modules than a reader takes in at once."""
    sizes = folder_sizes(tree)
    return [f"{folder}: {size}" for folder, size in sizes.items() if size > LARGEST_FOLDER]


def duplicate_classes(tree: Tree) -> list[str]:
    """Class names, apart from underscores, that stand in several modules."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, parsed in tree.parsed.items():
        for node in ast.walk(parsed):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(name)
    return [f"{name}: {', '.join(v)}" for name, v in found.items() if len(v) > 1]


def lonely_modules(tree: Tree) -> list[str]:
    """Small modules that only one other imports; the `__init__` of their folder does not count."""
    users: dict[str, set[str]] = defaultdict(set)
    for name in tree.sources:
        for _, module, imported in tree.imports(name):
            whole = f"{module}.{imported}"
            users[whole if whole in tree.sources else module].add(name)
    return [
        name
        for name, path in tree.sources.items()
        if path.name != "__init__.py"
        and len(tree.text[name].splitlines()) < SMALL
        and len([user for user in users[name] if not name.startswith(f"{user}.")]) == 1
    ]


def array_aliases(tree: Tree) -> list[str]:
    """Definitions of the name Array."""
    return [
        name
        for name, text in tree.text.items()
        if re.search(r"^Array(: TypeAlias)? = ", text, re.M)
    ]


def main() -> None:
    """Print the counts; with --list also the places."""
    arguments = [word for word in sys.argv[1:] if word != "--list"]
    tree = Tree(Path(arguments[0]) if len(arguments) > 0 else Path())
    counts = {
        "layout splats": layout_splats(tree),
        "private imports from outside": private_imports(tree),
        "English as protocol": prose_as_protocol(tree),
        "switches on goals outside goals": goal_switches(tree),
        "definitions of Array": array_aliases(tree),
        "duplicate class names": duplicate_classes(tree),
        f"modules under {SMALL} lines with one importer": lonely_modules(tree),
    }
    for what, places in counts.items():
        print(f"{len(places):5d}  {what}")
        if "--list" in sys.argv:
            print("".join(f"         {place}\n" for place in places), end="")
    sizes = folder_sizes(tree)
    largest = max(sizes, key=sizes.__getitem__)
    print(f"{sizes[largest]:5d}  modules in the largest folder, {largest}")


if __name__ == "__main__":
    main()
