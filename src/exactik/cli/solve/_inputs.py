"""What `solve` and `calibrate` read: recordings and a figure, brought into one world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from glob import glob, has_magic
from pathlib import Path

from exactik.errors import FileError
from exactik.io import (
    Note,
    check_axis,
    collect_warnings,
    describe,
    find_format,
    find_up_axis,
    inspect_markers,
    load_markers,
    load_skeleton,
    measure_space,
    readable_suffixes,
    suffix_of,
)
from exactik.io.formats import NPZ
from exactik.model import Skeleton, human
from exactik.motion import Markers, axes_matrix

__all__ = ["Figure", "Reading", "aligned", "read_figure", "read_recording", "recordings"]

HUMAN = "human"  # what stands for the built-in figure in place of a file


@dataclass
class Figure:
    """The skeleton that is to move.

    Attributes:
        skeleton: itself.
        name: file, or "human".
        up: which axis is up at rest, None if nobody knows.
        notes: what is to be said about it, a sentence each.
    """

    skeleton: Skeleton
    name: str
    up: str | None
    notes: list[str] = field(default_factory=list)

    @property
    def built_in(self) -> bool:
        """Whether it is our own human, which has nobody's size."""
        return self.name == HUMAN


@dataclass
class Reading:
    """A recording as read.

    Attributes:
        markers: in the axes of the figure.
        words: what was read, in a line.
        notes: what is odd and what was done, a sentence each.
    """

    markers: Markers
    words: str
    notes: list[str]


def recordings(given: Sequence[str]) -> list[Path]:
    """Return the recordings that names, patterns and folders mean; each once."""
    found: list[Path] = []
    known = readable_suffixes("markers")
    for name in given:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if suffix_of(p) in known)
            inside = [p for p in inside if suffix_of(p) != NPZ.suffix]
            if len(inside) == 0:
                raise FileError(name, f"no recording in it; expected one of {' '.join(known)}")
            found += inside
        elif has_magic(name) and not path.exists():
            fits = sorted(map(Path, glob(name, recursive=True)))
            if len(fits) == 0:
                raise FileError(name, "no file fits this pattern")
            found += fits
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def read_figure(name: str, unit: str | float | None, up: str | None) -> Figure:
    """Return the figure in a file, or the built-in human.

    Args:
        name: the file, or "human".
        unit: length unit of the file, in place of what it says.
        up: which axis is up, in place of what is customary.
    """
    if name.lower() == HUMAN:
        return Figure(human(), HUMAN, "z" if up is None else check_axis(up))
    notes: list[Note] = []
    form, known = find_format(name), readable_suffixes("skeleton")
    if suffix_of(name) not in known and not Path(name).exists():
        raise FileError(name, f"no such skeleton; expected human or one of {' '.join(known)}")
    with collect_warnings(notes, name):
        unstated = form is not None and form.length_unit is None
        guess = "auto" if unit is None and unstated else unit
        skeleton = load_skeleton(name, guess)
        own = find_up_axis(name) if up is None else check_axis(up)
    return Figure(skeleton, name, own, [*notes])


def read_recording(
    path: Path,
    figure_up: str | None,
    *,
    up: str | None = None,
    axes: str | None = None,
    unit: str | float | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Reading:
    """Return the markers in a file, turned to the axes of the figure, cut in time.

    Args:
        path: the file.
        figure_up: which axis is up for the figure; None to turn nothing.
        up: which axis is up in the file, in place of what it says.
        axes: turns the axes so and no other way, see `Markers.turned`.
        unit: length unit of the file, in place of what it says.
        start: where to begin [s from the first frame].
        end: where to end, included [s from the first frame].
    """
    said: list[Note] = []
    if axes is not None:
        axes_matrix(axes)  # a misspelt one is the user's, before the file's
    with collect_warnings(said, str(path)):
        markers = load_markers(path, length_unit=unit, up_axis=up)
    words = describe(markers).removeprefix("markers, ")
    lasts = max(len(markers) - 1, 0) / markers.rate
    if (start, end) != (None, None):
        cut = markers.between(start, end)
        if len(cut) == 0 and len(markers) > 0:
            asked = f"{0.0 if start is None else start:g} and {lasts if end is None else end:g} s"
            raise FileError(path, f"no frame between {asked}; the recording lasts {lasts:g} s")
        if len(cut) < len(markers):
            words = f"{words}; frames {cut.first_frame} to {_last(cut)} of it"
        markers = cut
    if len(markers) == 0 or len(markers.names) == 0:
        what = "frames" if len(markers) == 0 else "markers"
        raise FileError(path, f"holds no {what}; expected a recording")
    form = find_format(path)
    assert form is not None  # it was read
    facts = inspect_markers(str(path), form, markers, said)
    notes: list[str] = [*facts.assumed, *facts.oddities]
    markers = markers.turned(axes) if axes is not None else aligned(markers, figure_up, path, notes)
    return Reading(markers, words, notes)


def aligned(markers: Markers, figure_up: str | None, path: Path, notes: list[str]) -> Markers:
    """Return markers with the figure's axis up, and say what was turned or taken for granted.

    All three axes move on in a circle: with y up a figure looks along z, with z up along x, as is
    the custom with both.
    """
    if figure_up is None:
        notes.append(
            "Which axis is up for the skeleton is not known: taken as in the recording. "
            "--skeleton-up says otherwise."
        )
        return markers
    was = markers.up_axis
    if was is None:
        was, why = _likely_up(markers, path)
        if was is None:
            notes.append(
                f"Which axis is up in the recording is not known: {figure_up} is taken for it, as "
                "for the skeleton. --up says otherwise."
            )
            return replace(markers, up_axis=figure_up)
        notes.append(f"{was} is taken for up in the recording, {why}. --up says otherwise.")
        markers = replace(markers, up_axis=was)
    if was == figure_up:
        return markers
    axes = "YZX" if ("xyz".index(figure_up) - "xyz".index(was)) % 3 == 2 else "ZXY"
    notes.append(
        f"The recording has {was} up and the skeleton {figure_up}: the recording was turned "
        f"(--axes {axes})."
    )
    return markers.turned(axes)


def _likely_up(markers: Markers, path: Path) -> tuple[str | None, str]:
    """Return which axis is up in a file that does not say, and why it should be."""
    tallest = measure_space(markers.positions)[1]
    if tallest is not None:
        return tallest, "along which the markers spread most"
    form = find_format(path)
    custom = None if form is None or form.up_axis_of is not None else form.up_axis
    return custom, f"as in most {path.suffix} files"


def _last(markers: Markers) -> int:
    return markers.first_frame + len(markers) - 1
