"""Every command's help: no Python types, examples that parse, one meaning for each option."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from exactik.cli import (
    OLD_SPELLINGS,
    WITHDRAWN,
    app,
    load_commands,
    place_in_help,
)
from exactik.cli._app import ORDER
from exactik.errors import UsageError
from tests.support.checkout import ROOT

load_commands([])
COMMANDS: Any = typer.main.get_command(app)
WORDS = "str|int|float|bool|list|dict|tuple|None|True|False|TEXT|INTEGER|BOOLEAN"
PYTHON_TYPES = rf"<\w+>|\b({WORDS})\b"


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield all commands and groups with the words that call them."""
    yield " ".join(path), command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


ALL = dict(walk(COMMANDS))
LEAVES = {path: command for path, command in ALL.items() if not hasattr(command, "commands")}


def options_of(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name == "option"]


def help_of(path: str) -> str:
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    done = runner.invoke(app, [*path.split(), "--help"], prog_name="exactik")
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("path", ALL)
def test_help_has_examples_and_no_python_types(path: str):
    text = re.sub(r"\[x>=[\d.]+\]", "", help_of(path))  # ranges of numbers
    assert re.search(PYTHON_TYPES, text) is None, re.search(PYTHON_TYPES, text)
    assert f"Usage: exactik {path}".rstrip() in text
    examples = text.partition("Examples:")[2]
    assert f"exactik {path}".rstrip() in examples


@pytest.mark.parametrize("path", LEAVES)
def test_examples_use_options_that_exist(path: str):
    """And only those: an example is read by people who copy it."""
    command = LEAVES[path]
    known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    examples = [line for line in command.epilog.split("\n\n") if line.startswith("exactik ")]
    assert len(examples) >= 1
    for example in examples:
        words = shlex.split(example)
        assert words[1 : 1 + len(path.split())] == path.split()
        assert {word for word in words if word.startswith("-")} <= known, example


@pytest.mark.parametrize("path", LEAVES)
def test_parameters_describe_themselves(path: str):
    for param in LEAVES[path].params:
        assert param.help is not None and param.help[-1] in ".…", (param.name, param.help)
        assert param.metavar is not None or param.is_flag, param.name


def test_an_option_means_one_thing_in_all_commands():
    """Of one name: the same kind of value, short form and negation, or a flag everywhere."""
    kinds: dict[str, set[object]] = defaultdict(set)
    for path, command in LEAVES.items():
        for option in options_of(command):
            for name in (*option.opts, *option.secondary_opts):
                others = frozenset((*option.opts, *option.secondary_opts))
                kind = "flag" if option.is_flag else option.metavar
                # What is written is a file or a folder, the same thing to who types it.
                kinds[name].add((others, "FILE" if kind == "FOLDER" else kind))
            assert path == "" or "-o" not in option.opts or "--output" in option.opts
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
    assert "--markers" in kinds and "--mapping" in kinds and "--out" not in kinds


def test_every_command_has_a_place_in_the_help():
    placed = {name: group for group, names in ORDER.items() for name in names}
    shown = {name: command for name, command in COMMANDS.commands.items() if name in LEAVES}
    assert {*shown} - {*placed} <= {"reproduce"}  # of another distribution
    assert {name: command.rich_help_panel for name, command in shown.items() if name in placed} == (
        placed
    )
    ordered = sorted(app.registered_commands, key=place_in_help)
    assert [info.name or info.callback.__name__ for info in ordered if info.callback][:4] == [
        *("inspect", "convert", "solve", "calibrate")
    ]


def test_what_is_written_is_behind_output():
    for path in ("archive run", "calibrate", "demo", "label", "map", "match", "play", "retarget"):
        assert any(set(o.opts) == {"--output", "-o"} for o in options_of(LEAVES[path])), path


def test_old_spellings_are_understood_and_are_no_options_of_today():
    by_name = {command.name: command for command in reversed(LEAVES.values())}
    for name, spellings in OLD_SPELLINGS.items():
        known = {o for p in by_name[name].params for o in (*p.opts, *p.secondary_opts)}
        assert spellings.keys().isdisjoint(known) and set(spellings.values()) <= known
    for name, spellings in WITHDRAWN.items():
        known = {o for p in by_name[name].params for o in (*p.opts, *p.secondary_opts)}
        assert spellings.keys().isdisjoint({*known, *OLD_SPELLINGS.get(name, {})})
        for old, new in spellings.items():
            assert re.findall(r"--[a-z-]+", new)[0] in known
            with pytest.raises(UsageError, match=old):
                by_name[name].make_context(name, ["a.c3d", old, "x"])
    command: Any = by_name["demo"]
    for words in (["--out", "here"], ["--out=here"], ["-o", "here"]):
        assert command.make_context("demo", words).params["folder"].name == "here"


def commands_of_pages() -> list[tuple[str, str]]:
    """Return what calls exactik on the pages, in blocks of code and in text, and the page."""
    root = ROOT
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    found = []
    for page in pages:
        text = page.read_text("utf-8")
        blocks = re.findall(r"^```(?:sh|)\n(.*?)^```", text, re.S | re.M)
        lines = [
            line
            for block in blocks
            for line in re.findall(r"^(?:.*&& )?(exactik [a-z].*)", block, re.M)
        ]
        lines += re.findall(r"`(exactik [a-z][^`]*)`", text)
        found += [(page.stem, " ".join(line.split())) for line in lines]
    return found


def test_commands_of_the_pages_exist_and_so_do_their_options():
    commands = commands_of_pages()
    assert len(commands) >= 100
    for page, line in commands:
        words = line.partition(" #")[0].split()
        path = " ".join(words[1:3]) if words[1] == "archive" else words[1]
        assert path in ALL, (page, line)
        known = {name for p in ALL[path].params for name in (*p.opts, *p.secondary_opts)}
        used = {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)}
        assert used <= known, (page, line)
