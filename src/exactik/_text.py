"""Words for sentences that people read: lists of names, counts, text on one line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


class Reason(str):
    """A reason, "cause; consequence", of which the cause can also be shown alone."""

    __slots__ = ("cause", "consequence")

    cause: str  # the first part
    consequence: str  # the second, empty if there is none

    def __new__(cls, cause: str, consequence: str = "") -> Reason:
        """Join the parts."""
        reason = super().__new__(cls, cause if consequence == "" else f"{cause}; {consequence}")
        reason.cause, reason.consequence = cause, consequence
        return reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.cause, self.consequence)


def join_names(
    names: Sequence[str],
    limit: int | None = None,
    *,
    last: str = " and ",
    rest: str = " and {} more",
    spare: int = 0,
) -> str:
    """Return "a, b and c", or the first few "and 3 more".

    Args:
        names: what to list.
        limit: how many to show; all if None.
        last: stands before the last name where all are shown.
        rest: stands for those that are not shown; {} is their number.
        spare: how many beyond the limit are shown rather than counted.
    """
    if limit is not None and len(names) > limit + spare:
        return ", ".join(names[:limit]) + rest.format(len(names) - limit)
    return last.join(part for part in (", ".join(names[:-1]), *names[-1:]) if part != "")


def count_noun(count: int, noun: str, plural: str = "") -> str:
    """Return "1 bone", "2 bones"; `plural` where it is not `noun` with an s."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def format_millimetres(value: float | None) -> str:
    """Return a length in words: a digit after the point below 10 mm."""
    if value is None:
        return "unknown"
    return f"{value:.1f} mm" if abs(value) < 9.95 else f"{value:.0f} mm"


def format_share(value: float | None) -> str:
    """Return a share in per cent; never 0 % or 100 % if it is not quite."""
    if value is None:
        return "unknown"
    percent = 100.0 * value
    if 0.0 < percent < 0.1:
        return "< 0.1 %"
    if percent < 9.95:
        return f"{percent:.1f} %" if percent > 0.0 else "0 %"
    return "> 99 %" if 99.5 <= percent < 100.0 else f"{percent:.0f} %"


def file_name(path: str) -> str:
    """Return the name of a file without its folders, of any system: these are nobody else's."""
    return path.replace("\\", "/").rpartition("/")[2]


def drop_folders(command: str) -> str:
    """Return a command line in which files have their names alone, for others to read."""
    try:
        words = shlex.split(command)
    except ValueError:  # no command line
        return command
    shown = []
    for word in words:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        name = file_name(value)
        is_file = "." in name or value.startswith(("/", "~", "\\")) or value[1:2] == ":"
        shown.append(f"{option}{equals}{name if is_file and name != '' else value}")
    return shlex.join(shown)


def make_writable(text: str) -> str:
    """Return a text that UTF-8 can hold: names of files may have bytes that are no characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, max_length: int = 400) -> str:
    """Return a text on one printable line; a long one loses its middle."""
    if not text.isprintable():
        words = " ".join(text.split())
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    half = max_length // 2
    return text if len(text) <= max_length else f"{text[:half]} … {text[3 - half :]}"


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines, cells of a column below each other; the last may be longer."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    padded = (map(str.ljust, row, (*widths, 0)) for row in rows)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)
