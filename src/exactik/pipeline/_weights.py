"""Weights of markers, given by recorded names, the skeleton's, or patterns of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from exactik.errors import UnknownNameError
from exactik.marker_sets import strip_prefix

__all__ = ["resolve_weights"]


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
