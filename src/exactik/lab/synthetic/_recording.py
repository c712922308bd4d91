"""A synthetic recording: markers with noise, gaps, a swap, outliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exactik._arguments import require_instance
from exactik._arrays import freeze
from exactik.errors import ModelError, UnknownNameError, UsageError
from exactik.model.motion import Markers, Motion
from exactik.typing import Array, BoolArray, IntArray

_MIN_GAP_S, _MAX_GAP_S, _SWAP_S = 0.1, 1.0, 0.8  # gaps and the swap [s]
_MIN_OUTLIER_M, _MAX_OUTLIER_M = 0.1, 0.5  # how far outliers are off
_MAX_REJECTED_GAPS = 10_000  # draws that overlap others before the rest of the share is given up


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRecording:
    """A recording and the truth behind it."""

    markers: Markers  # what the cameras report; NaN where missing
    truth: Motion  # the motion, at the rate of the recording
    clean: Array  # true positions of the markers [m], (T, M, 3), world axes: no fault of any kind
    missing: BoolArray  # where a marker is missing, (T, M)
    swapped: tuple[str, str] | None  # the two markers that change places, or None
    swapped_frames: BoolArray  # when they do, (T,)
    outliers: BoolArray  # where a marker is far off, (T, M)

    def __repr__(self) -> str:
        facts = [f"{100.0 * self.missing.mean():.1f} % missing", f"{self.outliers.sum()} outliers"]
        if self.swapped is not None:
            facts.append(
                f"{' and '.join(self.swapped)} swapped in {self.swapped_frames.sum()} frames"
            )
        return f"<SyntheticRecording: {len(self.markers)} frames, {', '.join(facts)}>"


def simulate_recording(
    motion: Motion,
    *,
    noise: float = 0.001,
    gaps: float = 0.05,
    swap: bool | tuple[str, str] = True,
    outliers: float = 0.0,
    tissue: float = 0.0,
    rate: float | None = None,
    seed: int = 0,
) -> SyntheticRecording:
    """Return the markers of a motion as a recording with faults, and the truth.

    Args:
        motion: of any skeleton with markers.
        noise: standard deviation of white noise on each coordinate [m].
        gaps: share of samples that are missing, at most a half; in bursts of 0.1 to 1 s.
        swap: whether two markers change places for 0.8 s: a near pair, or the two that are named.
        outliers: share of samples that are off by 0.1 to 0.5 m.
        tissue: how far skin slides on its bone [m], root mean square of each marker: it follows the
            angles of the joints around, and sways.
        rate: of the recording [Hz]; that of the motion if None.
        seed: of everything random.
    """
    for name, value, upper in (
        ("noise", noise, np.inf),
        ("tissue", tissue, np.inf),
        ("gaps", gaps, 0.5),
        ("outliers", outliers, 0.5),
    ):
        if not 0.0 <= value <= upper:
            raise UsageError(f"{name} is {value!r}; expected a number from 0 to {upper:g}")
    names = tuple(require_instance("motion", motion, Motion).skeleton.markers)
    if len(names) == 0:
        raise ModelError(f"skeleton {motion.skeleton.name!r} has no markers to record")
    random = np.random.default_rng(seed)
    truth = motion if rate is None else motion.resampled(rate)
    clean = truth.forward().markers
    positions = clean + noise * random.standard_normal(clean.shape)
    if tissue > 0.0:
        positions += tissue * _compute_skin_sliding(truth, random)

    far = random.random(clean.shape[:2]) < outliers
    offsets = random.standard_normal(clean.shape)
    distances = random.uniform(_MIN_OUTLIER_M, _MAX_OUTLIER_M, far.shape)
    offsets *= distances[..., None] / np.linalg.norm(offsets, axis=2)[..., None]
    positions[far] += offsets[far]

    pair = _choose_swapped_pair(clean, names, swap, random)
    swapped_frames = np.zeros(len(clean), dtype=bool)
    shown = np.zeros(clean.shape[:2], dtype=bool)
    if pair is not None:
        length = max(1, min(round(_SWAP_S * truth.rate), len(clean) // 2))
        start = int(random.integers(0, len(clean) - length + 1))
        swapped_frames[start : start + length] = True
        samples, exchanged = np.ix_(swapped_frames, pair), np.ix_(swapped_frames, pair[::-1])
        shown[samples] = True  # a gap would hide the swap
        positions[samples] = positions[exchanged]
        far[samples] = far[exchanged]
    missing = _draw_gaps(shown, gaps, truth.rate, random) | np.isnan(clean).any(axis=2)
    positions[missing] = np.nan
    return SyntheticRecording(
        markers=Markers(positions, names, truth.rate, truth.first_frame, up_axis=truth.up_axis),
        truth=truth,
        clean=freeze(clean),
        missing=freeze(missing),
        swapped=None if pair is None else (names[pair[0]], names[pair[1]]),
        swapped_frames=freeze(swapped_frames),
        outliers=freeze(far & ~missing),
    )


def _choose_swapped_pair(
    clean: Array, names: tuple[str, ...], swap: bool | tuple[str, str], random: np.random.Generator
) -> IntArray | None:
    """Return two markers to swap: those asked for, or one of the nearest pairs."""
    if swap is False or len(clean) < 2 or len(names) < 2:
        return None
    if swap is not True:
        for name in swap:
            if name not in names:
                raise UnknownNameError("marker", name, names)
        if len(set(swap)) != 2:
            raise UsageError(f"swap is {swap!r}; expected two different markers")
        return np.array([names.index(name) for name in swap])
    sampled = clean[:: max(1, len(clean) // 50)]
    pairwise = np.nanmean(np.linalg.norm(sampled[:, :, None] - sampled[:, None], axis=3), axis=0)
    first, second = np.triu_indices(len(names), 1)
    distances = pairwise[first, second]
    near = np.flatnonzero(distances <= 1.5 * distances.min())
    chosen = int(random.choice(near))
    return np.array([first[chosen], second[chosen]])


def _draw_gaps(
    shown: BoolArray, share: float, rate: float, random: np.random.Generator
) -> BoolArray:
    """Return gaps, (T, M), that cover a share of all samples and none of those that are shown."""
    count, markers = shown.shape
    missing = np.zeros_like(shown)
    remaining, rejected = round(share * missing.size), 0
    while remaining > 0 and rejected < _MAX_REJECTED_GAPS:
        length = min(max(1, round(rate * random.uniform(_MIN_GAP_S, _MAX_GAP_S))), remaining, count)
        marker, start = int(random.integers(markers)), int(random.integers(count - length + 1))
        gap = slice(start, start + length)
        # Two gaps side by side would be a longer one.
        around = slice(max(start - 1, 0), start + length + 1)
        if shown[gap, marker].any() or missing[around, marker].any():
            rejected += 1
            continue
        missing[gap, marker] = True
        remaining -= length
    return missing


def _compute_skin_sliding(truth: Motion, random: np.random.Generator) -> Array:
    """Return how skin slides on the bones, world axes, (T, M, 3), root mean square 1 per marker."""
    skeleton, pose = truth.skeleton, truth.forward()
    finite = np.asarray(np.isfinite(truth.q).all(axis=1))
    q = np.where(finite[:, None], truth.q, skeleton.neutral())
    change = skeleton.difference(q, np.broadcast_to(q[0], q.shape))
    change = (change - change.mean(axis=0)) / (change.std(axis=0) + 1e-3)
    owners = [name.split(".")[0] for name in skeleton.dof_names]
    parents = {bone.name: bone.parent for bone in skeleton.bones}
    sliding = np.zeros((len(q), len(skeleton.markers), 3))
    for m, (bone, _) in enumerate(skeleton.markers.values()):
        dofs = [k for k, owner in enumerate(owners) if bone in (owner, parents[owner])]
        dofs = [k for k in dofs if parents[owners[k]] is not None]  # walking about slides no skin
        rates, phases = random.uniform(0.5, 4.0, 3), random.uniform(0.0, 2.0 * np.pi, 3)
        offset = 0.4 * np.sin(2.0 * np.pi * truth.times[:, None] * rates + phases)
        directions = random.standard_normal((len(dofs), 3))
        offset = offset + change[:, dofs] @ directions / max(1, len(dofs)) ** 0.5
        offset /= np.sqrt((offset**2).sum(axis=1).mean()) + 1e-12
        R_world_bone = pose.rotations[:, skeleton.bone_index(bone)]
        sliding[:, m] = np.einsum("tij,tj->ti", R_world_bone, offset)
    return sliding
