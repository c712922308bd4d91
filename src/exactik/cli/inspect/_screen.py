"""The facts of a file as a screen of text: what it is, what is odd, gaps, bones."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from exactik._text import count_noun, join_names
from exactik.cli.inspect._tree import draw_tree
from exactik.io import Facts, MarkerFacts, Note
from exactik.io.formats import AMC

MAX_GAP_ROWS = 30  # markers with gaps that are shown one by one; of more the worst
SHOWN_GAP_ROWS = 24
MAX_NAMES = 12  # in a sentence
MIN_BAR_COLUMNS, MAX_BAR_COLUMNS = 10, 50  # columns
BAR_LEVELS = "▁▂▃▄▅▆▇█"
LABEL_COLUMNS = 10  # columns of the words before facts
AXES = "xyz"


def format_facts(facts: Facts, width: int, everything: bool = False) -> Text:
    """Return the text, lines no longer than `width`.

    Args:
        everything: whether to show all gaps and all bones.
    """
    width = max(width, 40)
    lines = [*_wrap(Text(format_headline(facts), "bold"), width, ""), Text("")]
    for label, text in _list_facts(facts):
        first, *more = _fold(text, width - LABEL_COLUMNS)
        lines.append(Text.assemble((f"{label:<{LABEL_COLUMNS}}", "cyan"), first))
        lines += [Text(" " * LABEL_COLUMNS + line) for line in more]
    lines.append(Text(""))
    lines += _list_oddities(facts.oddities, width)
    if len(facts.markers) > 0:
        lines += _draw_gaps(facts, width, everything)
    if facts.skeleton is not None:
        lines += [Text(""), *draw_tree(facts.skeleton, width, everything)]
    return Text("\n").join(lines)


def format_headline(facts: Facts) -> str:
    """Return what the file is, in one sentence."""
    what = {
        "markers": f"{facts.format} recording",
        "motion": f"{facts.format} motion",
        "skeleton": f"{facts.format} skeleton",
        "coordinates": f"{facts.format} motion without its skeleton",
    }[facts.kind]
    maker = f" by {facts.maker}" if facts.maker != "" else ""
    if maker == "" and facts.kind == "markers":
        maker = ", maker not stated"
    took = [] if facts.frames is None else [count_noun(facts.frames, "frame")]
    if facts.rate is not None and facts.duration is not None:
        took.append(f"at {facts.rate:.6g} Hz, {format_seconds(facts.duration)}")
    body = ", ".join(part for part in (describe_contents(facts), " ".join(took)) if part != "")
    return f"{Path(facts.path).name}: {what}{maker}; {body}."


def describe_contents(facts: Facts) -> str:
    """Return how many of what the file holds."""
    if facts.skeleton is not None:
        bones = count_noun(len(facts.skeleton.bones), "bone")
        return f"{bones}, {count_noun(facts.skeleton.dofs, 'dof')}"
    if facts.kind == "coordinates":
        return count_noun(len(facts.columns), "bone" if facts.format == AMC.name else "column")
    markers = count_noun(len(facts.markers) - len(facts.computed), "marker")
    if len(facts.computed) == 0:
        return markers
    return f"{markers}, {count_noun(len(facts.computed), 'computed point')}"


def format_seconds(duration: float) -> str:
    """Return a duration [s] as one says it."""
    if 0.0 < duration < 0.0995:
        return f"{1e3 * duration:.0f} ms"
    if duration < 60.0:
        return f"{duration:.3g} s"
    minutes, rest = divmod(round(duration), 60)
    return f"{minutes} min {rest} s"


def _list_facts(facts: Facts) -> Iterable[tuple[str, str]]:
    """Yield what is known, a word and a line each."""
    yield "Units", _describe_units(facts)
    if len(facts.space) > 0:
        spans = (f"{_format_metres(low)} to {_format_metres(high)}" for low, high in facts.space)
        parts = (f"{axis} {span}" for axis, span in zip(AXES, spans, strict=True))
        yield "Space", f"{', '.join(parts)} m"
    elif facts.skeleton is not None:
        sizes = " × ".join(f"{size:.2f}" for size in facts.skeleton.size)
        yield "Size", f"{sizes} m in its neutral pose"
    if facts.kind in ("markers", "motion") and facts.frames:
        up = "not stated"
        if facts.up_axis is not None:
            up = f"{facts.up_axis}, by the {'header' if facts.kind == 'markers' else 'format'}"
        elif facts.tallest_axis is not None:
            up += f"; probably {facts.tallest_axis}, along which the figure is tall"
        yield "Up", up
    if facts.first_frame not in (None, 1):
        yield "Frames", f"numbered from {facts.first_frame}"
    if facts.kind == "markers" and facts.missing > 0.0:
        yield "Complete", _describe_complete(facts)
    if facts.marker_set != "":
        yield "Set", facts.marker_set
    if len(facts.computed) > 0:
        yield "Computed", f"{_join(tuple(facts.computed))}; used only with --computed"
    if len(facts.prefixes) > 0:
        things = "markers" if facts.skeleton is None else "bones"
        count = len(facts.markers) if facts.skeleton is None else len(facts.skeleton.bones)
        bare = count - sum(facts.prefixes.values())
        parts = [f"“{name}:” on {n}" for name, n in facts.prefixes.items()]
        parts += [f"none on {bare}"] if bare > 0 else []
        yield "Prefixes", f"{', '.join(parts)} {things}"
    if len(facts.others) > 0:
        yield "Besides", ", ".join(count_noun(n, kind) for kind, n in facts.others.items())
    if facts.skeleton_path != "":
        yield "Skeleton", f"from {Path(facts.skeleton_path).name}"
    if len(facts.columns) > 0:
        yield "Columns", _join(facts.columns)
    for label, text in facts.details.items():
        if label != "angles":
            yield label.capitalize(), text
    for note in facts.assumed:
        yield "Note", note.renamed(_option)


def _describe_complete(facts: Facts) -> str:
    """Return where all markers are there."""
    if facts.complete is None:
        return "in no frame are all markers there"
    first, last = facts.complete
    return f"frames {first} to {last}" if first < last else f"frame {first} alone"


def _describe_units(facts: Facts) -> str:
    if facts.kind == "coordinates":
        angles = facts.details.get("angles")
        return "not known without the skeleton" if angles is None else f"angles {angles}"
    if facts.length_unit == "":
        return "lengths in an unknown unit"
    return f"lengths in {facts.length_unit}"


def _format_metres(x: float) -> str:
    """Return a coordinate with a true minus, and none before a zero."""
    text = f"{x:.2f}"
    return "0.00" if text == "-0.00" else text.replace("-", "−")


def _list_oddities(notes: Sequence[Note], width: int) -> list[Text]:
    if len(notes) == 0:
        return [Text("Nothing odd about it.", "green")]
    lines = []
    for note in notes:
        lines += _wrap(Text(note.renamed(_option)), width, "! ")
    return lines


def _option(argument: str) -> str:
    """Return the option of `inspect` that stands for an argument of a reader, if there is one."""
    return "--length-unit" if argument == "length_unit" else argument


# --- gaps


def _draw_gaps(facts: Facts, width: int, everything: bool) -> list[Text]:
    """Return a line of time for each marker with gaps, and one line for those without.

    Markers with the very same gaps, as those of a trial that was cut, share a line.
    """
    frames = facts.frames or 0
    gappy = sorted((m for m in facts.markers if 0 < m.missing < frames), key=lambda m: -m.missing)
    whole = [m.name for m in facts.markers if m.missing == 0]
    groups: dict[object, list[MarkerFacts]] = {}
    for marker in gappy:
        groups.setdefault(marker.name if everything else marker.gaps, []).append(marker)
    rows = [(_name_group(group), group) for group in groups.values()]
    shown = rows if everything or len(rows) <= MAX_GAP_ROWS else rows[:SHOWN_GAP_ROWS]
    names, columns = _choose_columns([name for name, _ in shown], width)
    lines = [Text("")]
    if len(gappy) > 0:
        share = f"{100.0 * facts.missing:.1f} % of all positions are missing"
        title = f"Gaps over time ({share}); a column is {_describe_column(facts, columns)}"
        lines += _wrap(Text(title, "cyan"), width, "")
    for name, (marker, *_) in shown:
        percent = 100.0 * marker.missing / frames
        figure = f"{percent:4.0f} %" if percent >= 0.95 else f"{percent:4.1f} %"
        figure = "<0.1 %" if percent < 0.05 else figure
        line = Text(f"{set_cell_size(_shorten(name, names), names)} ")
        gaps = count_noun(len(marker.gaps), "gap")
        lines.append(line + _draw_bar(marker, facts, columns) + Text(f" {figure}  {gaps}"))
    if len(shown) < len(rows):
        more = sum(len(group) for _, group in rows[len(shown) :])
        lines.append(Text(f"… and {more} more with fewer gaps; --all shows them", "dim"))
    if len(whole) > 0:
        count = "No gaps" if len(whole) == len(facts.markers) else f"Without gaps, {len(whole)}"
        lines += _wrap(Text(f"{count}: {_join(whole, everything)}."), width, "")
    return lines


def _name_group(group: Sequence[MarkerFacts]) -> str:
    """Return the name of a marker, and how many others share its gaps."""
    more = len(group) - 1
    return group[0].name if more == 0 else f"{group[0].name} and {count_noun(more, 'other')}"


def _choose_columns(shown: Sequence[str], width: int) -> tuple[int, int]:
    """Return the columns for names and for bars."""
    longest = max((cell_len(name) for name in shown), default=0)
    names = min(longest, max(8, width // 4))
    return names, min(max(width - names - 19, MIN_BAR_COLUMNS), MAX_BAR_COLUMNS)


def _describe_column(facts: Facts, columns: int) -> str:
    """Return how long a column of a bar is."""
    frames = (facts.frames or 0) / columns
    if facts.rate is not None and frames >= 2.0:
        return format_seconds(float(f"{frames / facts.rate:.2g}"))
    return "a frame" if frames <= 1.0 else f"{frames:.2g} frames"


def _draw_bar(marker: MarkerFacts, facts: Facts, columns: int) -> Text:
    """Return when a marker is missing: a dot where it is there, a block as high as what is not."""
    frames, first = facts.frames or 0, facts.first_frame or 0
    gone = np.zeros(frames + 1)
    for low, high in marker.gaps:
        gone[low - first] += 1.0
        gone[high - first + 1] -= 1.0
    # Frames before each edge of a column, a part of a frame counting as such.
    total = np.concatenate(([0.0], np.cumsum(np.cumsum(gone)[:frames])))
    edges = np.linspace(0.0, frames, min(columns, frames) + 1)
    share = np.diff(np.interp(edges, np.arange(frames + 1), total)) / (edges[1] - edges[0])
    levels = np.minimum((share * len(BAR_LEVELS)).astype(int), len(BAR_LEVELS) - 1)
    shown = ["·" if part <= 1e-9 else BAR_LEVELS[k] for part, k in zip(share, levels, strict=True)]
    bar = Text()
    for is_present, run in groupby(shown, lambda column: column == "·"):
        bar.append("".join(run), "dim" if is_present else "yellow")
    return bar + Text(" " * (columns - len(share)))


# --- text


def _wrap(text: Text, width: int, bullet: str) -> list[Text]:
    """Return lines of a text; the first has a bullet, the others are indented as much."""
    first, *more = _fold(text.plain, width - len(bullet))
    head = Text.assemble((bullet, "yellow"), (first, text.style))
    return [head, *(Text(" " * len(bullet) + line, text.style) for line in more)]


def _fold(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _shorten(name: str, width: int) -> str:
    return name if cell_len(name) <= width else f"{set_cell_size(name, width - 1)}…"


def _join(names: Sequence[str], everything: bool = False) -> str:
    return join_names(names, None if everything else MAX_NAMES, last=", ")
