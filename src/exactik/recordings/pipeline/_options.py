"""How a recording goes from file to file: read, named, tracked, written; plain data all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from exactik._options import option
from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UnknownNameError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.problem import find_locked_dofs
from exactik.recordings.calibration import HandMapping, check_mapping
from exactik.recordings.tracking import PlainTrackOptions


@dataclass(frozen=True, kw_only=True)
class FigureOptions:
    """How the file of a figure is read."""

    skeleton_up: str | None = option(
        None,
        "Up axis of the skeleton's file: x, y or z.",
        why="Its file, or what is customary for such files, tells.",
        metavar="AXIS",
    )
    skeleton_unit: str | float | None = option(
        None,
        "Length unit of the skeleton's file, in place of its own: m, cm, mm, in, ….",
        more="A name, or the metres in it.",
        why="Its file tells, or its size.",
        metavar="UNIT",
    )


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(PlainTrackOptions):
    """What is asked of a recording, from its file to that of its motion."""

    angles: str | None = option(
        None,
        "Columns of .csv and .mot: clinical (hip_flexion_r), joints (rx) or both.",
        more="See `write_motion` for the usual ones.",
        metavar="WORD",
        words={"clinical": "clinical", "joints": "joints", "both": "both"},
    )
    rotations: str | None = option(
        None,
        "How joints are written in .csv: coordinates, wxyz or swing-twist.",
        more="Coordinates if None.",
        metavar="WORD",
        words={"coordinates": "coordinates", "wxyz": "wxyz", "swing-twist": "swing-twist"},
    )
    mapping: HandMapping | None = option(
        None,
        "Marker or bone that each recorded name means: LASI=LFWT,C7=neck, or a .json or .csv file.",
        more="See `propose_mapping`, which proposes those that are not named.",
        metavar="NAMES",
    )
    computed: bool = option(
        False,
        "Use computed points too, such as joint centres.",
        why="They follow from markers that are there as well.",
        flags="--computed",
    )
    person: str | None = option(
        None,
        "Name of the person if several were recorded; all for each of them.",
        more="The first if None.",
        metavar="NAME",
        flags="--subject",
    )
    start: float | None = option(
        None, "Time to begin at, counted from the first frame.", unit="s", metavar="SECONDS"
    )
    end: float | None = option(None, "Time to end at, included.", unit="s", metavar="SECONDS")
    weights: Mapping[str, float] | None = option(
        None,
        "Weights of markers: LFHD=2,R*=0.5, or a .json or .csv file.",
        more="By recorded names, the skeleton's, or patterns of these.",
        metavar="WEIGHTS",
    )
    up: str | None = option(
        None, "Up axis of the file that is read, in place of its own: x, y or z.", metavar="AXIS"
    )
    axes: str | None = option(
        None,
        "Turn the recording: YZX makes its y the new x.",
        more="So and no other way, see `Markers.turned`.",
        metavar="AXES",
    )
    length_unit: str | float | None = option(
        None,
        "Length unit of the file that is read, in place of its own: m, cm, mm, in, ….",
        more="A name, or the metres in it.",
        metavar="UNIT",
    )
    fit: bool = option(True, "Whether to fit size and markers of the figure to each subject first.")

    @property
    def up_origin(self) -> str:
        """Who says which axis is up: "axes" if the markers were turned by hand, "user", "file"."""
        if self.axes is not None:
            return "axes"
        return "file" if self.up is None else "user"


def resolve_weights(
    given: Mapping[str, float], names: Sequence[str], recorded: Mapping[str, str]
) -> dict[str, float]:
    """Return the weights of markers, by the skeleton's names; later entries win.

    Args:
        given: name or pattern → weight.
        names: of the skeleton's markers.
        recorded: recorded name → the skeleton's.
    """
    by_short_name = {strip_prefix(name): mine for name, mine in recorded.items()}
    weights: dict[str, float] = {}
    for name, weight in given.items():
        pattern = recorded.get(name, by_short_name.get(name, name))
        # A name may hold brackets, which a pattern would take for a choice of letters.
        matches = [other for other in names if other == pattern or fnmatchcase(other, pattern)]
        if len(matches) == 0:
            raise UnknownNameError("marker", name, names)
        weights.update(dict.fromkeys(matches, weight))
    return weights


def check_names(markers: Markers, skeleton: Skeleton, options: RecordingOptions) -> None:
    """Raise what is wrong with the names in mapping, weights and locks, before any work is done."""
    if options.mapping is not None:
        check_mapping(skeleton, markers, options.mapping)
    if options.weights is not None:
        known = {name: name for name in (*markers.names, *skeleton.markers)}
        resolve_weights(options.weights, tuple(known), known)
    find_locked_dofs(skeleton, options.lock)
