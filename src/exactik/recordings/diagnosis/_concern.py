"""Which values a finding puts in doubt: a fault of a marker those that it moves."""

from __future__ import annotations

import numpy as np

from exactik.recordings.diagnosis._evidence import Evidence
from exactik.recordings.diagnosis._finding import Finding
from exactik.typing import Array, BoolArray

MIN_SHIFT = 0.02
"""[rad or m] of a dof that is worth a word: 1.1°, less than two people who palpate differ by."""


def find_concerned(evidence: Evidence, found: Finding, least: Array) -> BoolArray:
    """Return the dofs whose values a finding puts in doubt, (nv,).

    Args:
        evidence: the recording.
        found: of it.
        least: shift of each dof [rad or m] that the fault of a marker must exceed, (nv,).
    """
    bones = np.array([name.rpartition(".")[0] for name in evidence.skeleton.dof_names])
    if found.severity in ("care", "reject") and found.kind in ("limb-error", "limb-symmetry"):
        limb = next(limb for limb in evidence.limbs if limb.name == found.names[0])
        return np.isin(bones, limb.bones) & evidence.has_markers
    if found.severity == "look" and found.kind == "jump":
        return np.isin(bones, found.names) & evidence.has_markers
    if found.severity == "look" and found.kind == "not-converged":
        return evidence.has_markers
    shift = np.zeros(len(bones))
    for m, fault in _measure_faults(evidence, found):
        shift = np.maximum(shift, fault * evidence.influence.shift[m])
    return (shift > np.maximum(least, MIN_SHIFT)) & evidence.has_markers


def _measure_faults(evidence: Evidence, found: Finding) -> list[tuple[int, float]]:
    """Return the markers that are off by a finding, by their columns, and by how much [m]."""
    track, influence = evidence.track, evidence.influence
    columns = {**{mine: mine for mine in track.names}, **track.recorded_names}
    markers = [track.names.index(columns[name]) for name in found.names if name in columns]
    is_beyond, details = found.severity in ("care", "reject"), found.details
    match found.kind:
        case "marker-error" if is_beyond:
            return [(m, influence.estimate_fault(m, details["error"])) for m in markers]
        case "poor-fit":
            return [(m, influence.estimate_fault(m, found.value)) for m in markers]
        case "far-marker" if not details["left_out"]:
            error = 1e-3 * details["max_mm"]
            return [(m, influence.estimate_fault(m, error)) for m in markers]
        case "marker-jump" if is_beyond:
            return [(m, details["distance"]) for m in markers]
        case "swap" if details["verdict"] == "likely":
            return [(m, 1e-3 * details["distance_mm"]) for m in markers]
        case "frozen-marker":
            return [(m, details["distance"]) for m in markers]
    return []
