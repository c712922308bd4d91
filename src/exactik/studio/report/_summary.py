"""All that a report says, in numbers: plain data, ready for strict JSON."""

from __future__ import annotations

import platform
from collections import Counter
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from exactik._version import __version__
from exactik.model.motion import find_segments, mark_segments
from exactik.recordings.angles import GaitCycles, JointWords
from exactik.recordings.diagnosis import Finding
from exactik.recordings.tracking import Quality, match_markers
from exactik.studio.report._reading import reading_facts
from exactik.typing import Array, BoolArray

if TYPE_CHECKING:
    from exactik.recordings.tracking import Track


Facts = dict[str, Any]


def summary_of(
    track: Track, command: str = "", *, per_frame: bool = False, repeatable: bool = False
) -> Facts:
    """Return what a report says, as numbers and names that JSON can hold; None where unknown.

    Frames are counted from 0, times are seconds from the first frame, lengths are millimetres.

    Args:
        track: the solved recording.
        command: that repeats the solve.
        per_frame: whether to add lists with one value a frame.
        repeatable: whether to leave out what differs from run to run and from machine to machine:
            how long it took, on which system. A report of it is then the same to the bit.
    """
    missing = find_missing(track)
    above_best = track.options.assessment.cost_above_best
    summary: Facts = {
        **track.verdict.to_dict(),
        "verdict_text": str(track.verdict),
        "verdict_short": track.verdict.short,
        "asides": track.verdict.asides,
        "quality": _quality_facts(track),
        "reading": reading_facts(track.context),
        "gait": gait_facts(track.gait()),
        "skeleton": track.skeleton.name,
        "source": track.markers.source,
        "frames": len(track),
        "rate_hz": _round_number(track.markers.rate),
        "duration_s": _round_number(len(track) / track.markers.rate),
        "first_frame_in_file": int(track.markers.first_frame),
        "dofs": track.skeleton.nv,
        "markers": _marker_names(track),
        "error": _error_facts(track),
        "error_per_frame": _frame_error_facts(track),
        "error_per_marker": [_marker_facts(track, m, missing) for m in range(len(track.names))],
        "missing_share": _round_number(missing.mean()),
        "spikes": count_spikes(track),
        "gaps": _gap_facts(track, missing),
        "attention": [
            {"kind": found.kind, **segment_facts(track, found), "text": found.text}
            for found in track.attention
        ],
        "unremarkable_share": _round_number(1.0 - _mark_attention(track).mean()),
        "status": dict(sorted(Counter(track.status.tolist()).items())),
        "never_determined": list(track.never_determined),
        "filled_frames": int(track.undetermined.any(axis=1).sum()),
        "jumps": int(track.jumps.sum()),
        "excess_cost_frames": int((track.excess_cost > above_best).sum()),
        "not_converged_frames": int((~track.converged).sum()),
        "limits": _limit_facts(track),
        "swaps": _swap_facts(track),
        "sigma_mm": _round_number(1e3 * track.sigma),
        "iterations": _compute_statistics(track.iterations.astype(float)),
        "seconds": _round_number(track.seconds),
        "frames_per_second": _round_number(len(track) / track.seconds)
        if track.seconds > 0
        else None,
        "solver": track.solver,
        "settings": _settings_facts(track),
        "notes": list(track.markers.notes),
        "versions": collect_versions(),
        "command": command,
    }
    if repeatable:
        summary |= {"seconds": None, "frames_per_second": None}
        summary["versions"].pop("platform")
        summary["settings"].pop("threads")
    if per_frame:
        summary["per_frame"] = _per_frame_lists(track)
    return summary


def collect_versions() -> dict[str, str]:
    """Return the versions of what a result depends on, and of Numba if it is there."""
    versions = {"exactik": __version__}
    for name in ("numpy", "numba", "scipy"):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return {**versions, "python": platform.python_version(), "platform": platform.platform()}


def find_missing(track: Track) -> BoolArray:
    """Return where markers in use are missing in the recording, (T, M).

    What a robust solve left out as spikes is not: it has no error either, but it was there.
    """
    return track.markers.missing[:, find_recorded_columns(track)]


def count_spikes(track: Track) -> int:
    """Return how many samples a robust solve left out because they stood out."""
    return int((np.isnan(track.marker_errors) & ~find_missing(track)).sum())


def find_recorded_columns(track: Track) -> list[int]:
    """Return where the markers in use are in the recording, (M,)."""
    return [track.markers.names.index(track.recorded_names[name]) for name in track.names]


def _round_number(value: float | np.floating[Any]) -> float | None:
    """Return a number of seven digits, None if it is none."""
    return float(f"{float(value):.7g}") if np.isfinite(value) else None


def _compute_statistics(values: Array, scale: float = 1.0) -> Facts:
    """Return mean, median, 95 % and most; None where there are no values."""
    values = scale * values[np.isfinite(values)]
    if len(values) == 0:
        return dict.fromkeys(("mean", "median", "p95", "max"))
    middle, p95 = np.percentile(values, [50.0, 95.0])
    numbers = {"mean": values.mean(), "median": middle, "p95": p95, "max": values.max()}
    return {key: _round_number(value) for key, value in numbers.items()}


def _compute_statistics_mm(values: Array) -> Facts:
    return {f"{key}_mm": value for key, value in _compute_statistics(values, 1e3).items()}


def segment_facts(track: Track, found: Finding) -> Facts:
    """Return frames and times of a stretch; it ends with the end of its last frame's time."""
    first, last, rate = found.first, found.last, track.markers.rate
    return {
        "first": first,
        "last": last,
        "first_in_file": first + track.markers.first_frame,
        "last_in_file": last + track.markers.first_frame,
        "frames": last - first + 1,
        "start_s": _round_number(first / rate),
        "end_s": _round_number(last / rate),
    }


def _marker_names(track: Track) -> Facts:
    matched = match_markers(track.skeleton, track.markers)
    seen = np.asarray(np.isfinite(track.marker_errors).any(axis=0))
    return {
        "used": list(track.names),
        "ignored": [name for name in track.markers.names if name not in matched],
        "not_in_recording": [n for n in track.skeleton.markers if n not in matched.values()],
        "never_seen": [name for name, there in zip(track.names, seen, strict=True) if not there],
    }


def _error_facts(track: Track) -> Facts:
    errors, facts = track.marker_errors, _compute_statistics_mm(track.marker_errors.ravel())
    if facts["mean_mm"] is None:
        return {**facts, "worst_marker": None, "worst_frame": None, "worst_s": None}
    t, m = np.unravel_index(int(np.nanargmax(errors)), errors.shape)
    worst = {"worst_marker": track.names[m], "worst_frame": int(t)}
    return {**facts, **worst, "worst_s": _round_number(int(t) / track.markers.rate)}


def _frame_error_facts(track: Track) -> Facts:
    mean, _ = track.frame_errors
    worst = int(np.nanargmax(mean)) if np.isfinite(mean).any() else None
    return {**_compute_statistics_mm(mean), "worst_frame": worst}


def _marker_facts(track: Track, m: int, missing: BoolArray) -> Facts:
    errors = track.marker_errors[:, m]
    facts: Facts = {"name": track.names[m], **_compute_statistics_mm(errors)}
    facts["missing_share"] = _round_number(missing[:, m].mean())
    if track.marker_weights is not None:
        weights = track.marker_weights[np.isfinite(errors), m]
        facts["mean_weight"] = _round_number(weights.mean()) if len(weights) > 0 else None
    return facts


def _gap_facts(track: Track, missing: BoolArray) -> list[Facts]:
    """Return the gaps of every marker that has any, those missing most first."""
    rate, facts = track.markers.rate, []
    for m in np.argsort(-missing.sum(axis=0), kind="stable"):
        gaps = find_segments(missing[:, m])
        if len(gaps) > 0:
            first, last = max(gaps, key=lambda gap: gap[1] - gap[0])
            facts.append(
                {
                    "name": track.names[m],
                    "gaps": len(gaps),
                    "frames": int(missing[:, m].sum()),
                    "longest_first": first,
                    "longest_frames": last - first + 1,
                    "longest_s": _round_number((last - first + 1) / rate),
                }
            )
    return facts


def _mark_attention(track: Track) -> BoolArray:
    """Return the frames that some stretch of `attention` holds, (T,)."""
    return mark_segments(len(track), [(found.first, found.last) for found in track.attention])


def _list_kind(track: Track, kind: str) -> list[Finding]:
    return [found for found in track.findings if found.kind == kind]


def _limit_facts(track: Track) -> list[Facts]:
    """Return the dofs that touch a limit, the most often first."""
    lower, upper = np.asarray(track.problem.frame_problem.lower), track.problem.frame_problem.upper
    touched = track.at_limits
    share, facts = touched.mean(axis=0), []
    names, turns = track.skeleton.dof_names, track.skeleton.turns
    words = JointWords(track.skeleton)
    for k in np.argsort(-share, kind="stable"):
        if share[k] == 0.0:
            break
        q = track.motion.q[:, track.skeleton.plain_q[k]]
        low, high = float((q <= lower[k]).mean()), float((q >= upper[k]).mean())
        facts.append(
            {
                "dof": names[k],
                "words": words.dofs[names[k]],
                "share": _round_number(share[k]),
                "frames": int(touched[:, k].sum()),
                "share_lower": _round_number(low),
                "share_upper": _round_number(high),
                "lower": _round_number(float(lower[k])),
                "upper": _round_number(float(upper[k])),
                "unit": "rad" if turns[k] else "m",
            }
        )
    return facts


def _swap_facts(track: Track) -> list[Facts]:
    facts = []
    for swap in _list_kind(track, "swap"):
        details = dict(swap.details)
        for key in ("distance_mm", "error_mm", "exchanged_mm", "squares_ratio"):
            details[key] = None if details[key] is None else _round_number(details[key])
        facts.append({"names": list(swap.names), **segment_facts(track, swap), **details})
    return facts


def _quality_facts(track: Track) -> Facts:
    """Return what values are worth: counts of values, and stretches of joints not measured."""
    words, joints = [quality.name.lower() for quality in Quality], {}
    for name, quality in zip(track.skeleton.bone_names, track.joint_quality.T, strict=True):
        edges = np.flatnonzero(np.diff(quality, prepend=quality[:1] + 1))
        ends = [*edges[1:], len(quality)]
        joints[name] = [
            [int(first), int(end) - 1, words[quality[first]]]
            for first, end in zip(edges, ends, strict=True)
            if quality[first] != Quality.MEASURED
        ]
    counts = np.bincount(track.quality.ravel(), minlength=len(words)).tolist()
    return {"values": dict(zip(words, counts, strict=True)), "joints": joints}


def _settings_facts(track: Track) -> Facts:
    """Return the arguments of the call, as far as the result shows them."""
    problem, frame_problem = track.problem, track.problem.frame_problem
    names, loss = np.array(track.skeleton.dof_names), problem.robust
    pairs = zip(track.names, problem.targets.weight, strict=True)
    return {
        "limits": frame_problem.limits,
        "locked": names[frame_problem.locked].tolist(),
        "robust": loss,
        "robust_width_mm": None if loss is None else _round_number(1e3 * problem.loss_width),
        "weights": {name: float(weight) for name, weight in pairs if weight != 1.0},
        "offsets_per_frame": len(track.marker_points) > 1,
        "threads": track.threads,
        **track.settings,
    }


def _per_frame_lists(track: Track) -> Facts:
    mean, most = track.frame_errors
    return {
        "mean_mm": [_round_number(1e3 * value) for value in mean],
        "max_mm": [_round_number(1e3 * value) for value in most],
        "missing": find_missing(track).sum(axis=1).tolist(),
        "iterations": track.iterations.tolist(),
        "status": track.status.tolist(),
    }


# --- what was found of gait, in numbers


def gait_facts(cycles: GaitCycles) -> dict[str, Any]:
    """Return what was found of gait, as plain data.

    Its code is "gait", "no-stride" (steps, but no whole stride) or one of `GaitEvents`.
    """
    steps_only = len(cycles) == 0 and cycles.events.code == "gait"
    return {
        "code": "no-stride" if steps_only else cycles.events.code,
        "text": cycles.text,
        "strides": len(cycles),
        "treadmill_m_s": _round(cycles.belt_speed) if cycles.belt_speed > 0.0 else None,
        "parameters": [
            {
                "name": parameter.name,
                "side": parameter.side,
                "unit": parameter.unit,
                "mean": _round(parameter.mean),
                "sd": _round(parameter.sd),
                "strides": parameter.strides,
            }
            for parameter in cycles.parameters()
        ],
        "events": [
            {"side": event.side, "kind": event.kind, "frame": event.frame}
            for event in cycles.events.events
        ],
    }


def _round(value: float) -> float | None:
    return float(f"{value:.5g}") if np.isfinite(value) else None
