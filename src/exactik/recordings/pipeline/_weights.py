"""Names that options give: of markers, recorded or the skeleton's, and of what is locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from exactik.anatomy.marker_sets import strip_prefix
from exactik.errors import UnknownNameError
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.problem import find_locked_dofs
from exactik.recordings.calibration import check_mapping
from exactik.recordings.pipeline._options import RecordingOptions


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
