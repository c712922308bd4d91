"""How commands describe themselves: values in words instead of Python types, examples at the end.

Typer shows `<list[str]>` or `<bool>` beside options. Here options that take a value have a metavar
(FILE, SECONDS, AXIS, …), flags have none, and the last part of a docstring is the examples:

Examples:
        exactik inspect walk.c3d
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from typer.core import TyperCommand, TyperGroup

from exactik.errors import UsageError

EXAMPLES = "\nExamples:\n"

# Spellings of 0.1 that mean something else in other commands now, by command; they are refused.
WITHDRAWN: dict[str, dict[str, str]] = {
    "calibrate": {"--markers": "--mapping", "--robust": "the default; see --trust-all"},
    "convert": {
        "--length-unit": "--output-unit; --input-unit is that of what is read",
        "--up": "--output-up; --input-up is that of what is read",
    },
    "match": {"--markers": "--mapping"},
    "retarget": {"--mapping": "--bones"},
    "run": {"--markers": "--mapping", "--report": "--reports"},
    "solve": {"--markers": "--mapping"},
}

# Spellings of 0.1 that no option of the same command has now, by command; not shown in the help.
OLD_SPELLINGS: dict[str, dict[str, str]] = {
    "calibrate": {"--no-robust": "--trust-all"},
    "convert": {"--from-up": "--input-up", "--rate": "--output-rate", "--to": "--format"},
    "demo": {"--out": "--output"},
    "label": {"--set": "--marker-set"},
    "map": {"--out": "--output"},
    "play": {"--export": "--output", "--fps": "--output-rate"},
    "reproduce": {"--out": "--output"},
    "retarget": {"--save-mapping": "--save-bones"},
    "run": {
        "--no-report": "--no-reports",
        "--outputs": "--motions",
        "--person": "--subject",
        "--subjects": "--subject-folders",
    },
}


def _split_examples(help: str | None) -> tuple[str | None, str | None]:
    """Return what a command does, and its examples as the paragraphs of an epilog."""
    text, found, examples = (help or "").partition(EXAMPLES)
    lines = dedent(examples).strip().splitlines()
    if found == "":
        return help, None
    return text.rstrip(), "\n\n".join(["Examples:", *lines])


def _hide_types(params: list[Any]) -> list[Any]:
    """Return parameters that show their metavar, or nothing."""
    for param in params:
        if param.param_type_name == "argument":
            # Typer shows the type even where there is a metavar.
            vars(param)["display_type_rich"] = lambda ctx: None
        elif param.is_flag:
            param.metavar = ""
    return params


def _list_arguments(params: list[Any]) -> list[str]:
    """Return arguments as the usage line shows them."""
    arguments = [param for param in params if param.param_type_name == "argument"]
    return [p.metavar if p.required else f"[{p.metavar}]" for p in arguments]


class Command(TyperCommand):
    """A command whose help has no types, and examples from its docstring."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Take what Typer gives, with the examples apart."""
        help, examples = _split_examples(options.pop("help", None))
        options["epilog"] = options.get("epilog") or examples
        super().__init__(*args, help=help, **options)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; old spellings of options count as the new ones, or are refused."""
        old = OLD_SPELLINGS.get(self.name or "", {})
        withdrawn = WITHDRAWN.get(self.name or "", {})
        words = [word.partition("=") for word in args]
        for word, _, _ in words:
            if word in withdrawn:
                raise UsageError(f"{word} of `{self.name}` is now {withdrawn[word]}")
        return super().parse_args(ctx, [f"{old.get(a, a)}{b}{c}" for a, b, c in words])

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, without types."""
        return _hide_types(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command in the usage line."""
        return ["[OPTIONS]", *_list_arguments(self.params)]


class CommandGroup(TyperGroup):
    """A group of commands whose help has no types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters, without types."""
        return _hide_types(super().get_params(ctx))
