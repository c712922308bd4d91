"""Count what the tree does against the rules of its layout, and how large it is.

python tools/house.py [ROOT] [--list]
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

# From the ground up: a module imports its own layer and those of the lines above it, none beside
# it, inside functions neither. "exactik" is the facade, __init__.py; "a.b" is a folder of the
# package a that has a place of its own in this order.
LAYERS = """
    _registry _renamed _text _threads _version
    errors typing
    _arguments _arrays _options
    compile
    spatial
    kernels
    kernels.cuda
    model.functions model.visuals
    model
    model.motion goals
    problem
    solvers
    solvers.batch
    anatomy
    io
    recordings.angles
    lab.check
    recordings.tracking
    recordings.calibration retargeting lab.landscape
    recordings.labelling
    recordings.diagnosis
    recordings.pipeline
    recordings
    studio.plots
    studio.player
    studio.report
    lab.synthetic
    studio.viewer
    studio
    archive
    lab
    exactik
    jax torch
    cli
    __main__
"""
RANK = {name: rank for rank, line in enumerate(LAYERS.splitlines()) for name in line.split()}
FOUNDATION = (
    "_registry",
    "_renamed",
    "_text",
    "_threads",
    "_version",
    "errors",
    "typing",
    "_arguments",
    "_arrays",
    "_options",
)

LONGEST_FUNCTION = 80  # lines, outside kernels
MOST_PARAMETERS = 10

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
        self.root, self.sources = root, dict[str, Path]()
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


def layer_of(module: str) -> str:
    """The layer of a dotted module name; for a foreign module, its top-level package."""
    package, _, rest = module.partition(".")
    if package != "exactik" or rest == "":
        return package
    first, second, *_ = [*rest.split("."), ""]
    return f"{first}.{second}" if f"{first}.{second}" in RANK else first


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {
        "TYPE_CHECKING",
        "typing.TYPE_CHECKING",
        "_typing.TYPE_CHECKING",
    }


def find_imports(node: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and absolute name of each module that is imported below a node, in functions too.

    Args:
        node: what is searched; imports for type checkers alone do not count.
        package: names of the package that the module is in, for relative imports.
    """
    for child in ast.iter_child_nodes(node):
        if _is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            yield from ((child.lineno, alias.name) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            above = package[: len(package) + 1 - child.level] if child.level > 0 else []
            base = ".".join([*above, *([child.module] if child.module else [])])
            for alias in child.names:  # `from exactik import model` means the layer
                whole = f"{base}.{alias.name}"
                yield child.lineno, whole if layer_of(whole) in RANK else base
        yield from find_imports(child, package)


def upward_imports(tree: Tree) -> list[str]:
    """Imports of any kind that do not point downwards."""
    found = []
    for name, path in tree.sources.items():
        own = layer_of(name)
        if not name.startswith("exactik.") and name != "exactik":
            continue
        if own not in RANK:
            found.append(f"{name}: give the layer {own!r} a rank")
            continue
        parts = name.split(".")
        package = parts if path.name == "__init__.py" else parts[:-1]
        for line, module in find_imports(tree.parsed[name], package):
            other = layer_of(module)
            if module.split(".")[0] != "exactik" or other == own:
                continue
            if RANK.get(other, len(RANK)) >= RANK[own]:
                found.append(f"{name}:{line}: {own} may not import {module}")
    return found


def package_edges(tree: Tree) -> list[str]:
    """Which package imports which, in functions too; the facade and the foundation do not count."""
    edges = set()
    for name in tree.sources:
        for _, module in find_imports(tree.parsed[name], name.split(".")[:-1]):
            own, other = (layer_of(m).split(".")[0] for m in (name, module))
            ours = name.startswith("exactik.") and module.startswith("exactik.")
            drawn = own not in FOUNDATION and other not in FOUNDATION
            if ours and drawn and own != other and own != "__main__":
                edges.add(f"{own} -> {other}")
    return sorted(edges)


def packages(tree: Tree) -> list[str]:
    """The packages of the library, one folder each."""
    names = (name.split(".") for name in tree.sources if tree.sources[name].name == "__init__.py")
    return sorted(parts[1] for parts in names if parts[0] == "exactik" and len(parts) == 2)


def kernel_cycles(tree: Tree) -> list[str]:
    """Pairs of folders of `kernels` that import each other."""
    edges = set()
    for name in tree.sources:
        for _, module in find_imports(tree.parsed[name], name.split(".")[:-1]):
            own, other = name.split(".")[1:3], module.split(".")[1:3]
            if own[:1] == other[:1] == ["kernels"] and own != other and len(other) == 2:
                edges.add((own[-1], other[-1]))
    return sorted(f"{a} <-> {b}" for a, b in edges if a < b and (b, a) in edges)


def _functions(tree: Tree) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, parsed in tree.parsed.items():
        if name.startswith("exactik.") and name.split(".")[1] != "kernels":
            for node in ast.walk(parsed):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield name, node


def long_functions(tree: Tree) -> list[str]:
    """Functions outside kernels that no page holds."""
    lengths = (
        (name, node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for name, node in _functions(tree)
    )
    return [f"{name}.{f}: {lines}" for name, f, lines in lengths if lines > LONGEST_FUNCTION]


def wide_functions(tree: Tree) -> list[str]:
    """Functions outside kernels with more parameters than a reader keeps in mind."""
    counts = (
        (name, node.name, len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]))
        for name, node in _functions(tree)
    )
    return [f"{name}.{f}: {count}" for name, f, count in counts if count > MOST_PARAMETERS]


def constants(tree: Tree) -> list[str]:
    """Named constants of modules."""
    found = []
    for name, parsed in tree.parsed.items():
        for node in parsed.body if name.startswith("exactik.") else []:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
            found += [
                f"{name}.{t.id}"
                for t in targets
                if isinstance(t, ast.Name) and t.id.isupper() and t.id.strip("_") != ""
            ]
    return found


def public_names(tree: Tree) -> list[str]:
    """Names of the facade."""
    for node in tree.parsed["exactik"].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [f"exactik.{name}" for name in ast.literal_eval(node.value)]
    return []


def count_lines(tree: Tree) -> int:
    """Lines of Python of the library."""
    ours = (text for name, text in tree.text.items() if name.split(".")[0] == "exactik")
    return sum(len(text.splitlines()) for text in ours)


def count_words(root: Path) -> int:
    """Words of the pages in docs."""
    return sum(len(p.read_text("utf-8").split()) for p in (root / "docs").rglob("*.md"))


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
        if not name.startswith(("exactik.goals", "exactik.lab.check"))
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


def private_names_in_tests(tree: Tree) -> list[str]:
    """Names of ours that tests take from private modules, and private names of public ones.

    They come by import, as attributes of an imported module, or in strings for `monkeypatch`.
    """
    modules = set(tree.sources)
    found: set[str] = set()
    for path in sorted((tree.root / "tests").rglob("*.py")):
        parsed = ast.parse(path.read_text("utf-8"))
        aliases: dict[str, str] = {}  # what a module is called here: its dotted name
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("exactik"):
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    if name in modules:
                        aliases[alias.asname or alias.name] = name
                    found.add(name)
            elif isinstance(node, ast.Import):
                named = [alias for alias in node.names if alias.name in modules]
                aliases |= {alias.asname or alias.name: alias.name for alias in named}
        for node in ast.walk(parsed):
            whole = ""
            if isinstance(node, ast.Attribute):
                whole = ast.unparse(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole = node.value if node.value.startswith("exactik.") else ""
            elif isinstance(node, ast.Call) and re.search(r"[gs]etattr$", ast.unparse(node.func)):
                words = [ast.unparse(argument).strip("'") for argument in node.args[:2]]
                whole = ".".join(words)
            head, _, rest = whole.partition(".")
            whole = f"{aliases.get(head, head)}.{rest}"
            module, _, name = whole.rpartition(".")
            if module in modules and name.isidentifier():
                found.add(whole)
    # A module counts where nothing of it is named.
    used = {name.rpartition(".")[0] for name in found}
    return sorted(n for n in found if re.search(r"\._(?!_)", n) and n not in modules & used)


RULES = (
    layout_splats,
    private_imports,
    prose_as_protocol,
    goal_switches,
    upward_imports,
    oversized_folders,
    duplicate_classes,
    kernel_cycles,
)
"""What the tree shall not have."""

SIZES = (
    packages,
    package_edges,
    public_names,
    wide_functions,
    long_functions,
    constants,
    array_aliases,
    lonely_modules,
    private_names_in_tests,
)
"""What it shall have few of."""


def main() -> None:
    """Print the counts; with --list also the places."""
    words = [word for word in sys.argv[1:] if word != "--list"]
    root = Path(words[0]) if len(words) > 0 else Path()
    tree = Tree(root)
    print(f"{count_lines(tree):6d}  lines of the library")
    print(f"{count_words(root):6d}  words of docs")
    for count in (*SIZES, *RULES):
        places = count(tree)
        print(f"{len(places):6d}  {count.__name__.replace('_', ' ')}")
        if "--list" in sys.argv:
            print("".join(f"          {place}\n" for place in places), end="")
    sizes = folder_sizes(tree)
    largest = max(sizes, key=sizes.__getitem__)
    print(f"{sizes[largest]:6d}  modules in the largest folder, {largest}")


if __name__ == "__main__":
    main()
