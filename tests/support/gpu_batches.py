"""Batches with joints and goals of every kind, and recordings, solved on the CPU and on a GPU.

As a program it solves them on the GPU, or under numba's simulator where NUMBA_ENABLE_CUDASIM=1 (and
NUMBA_DISABLE_JIT=1: the simulator's arrays cannot be passed to compiled functions), and prints the
answers as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import exactik as ik
from exactik import Bone, Coupling, Joint, Skeleton
from exactik.model.functions import Linear
from exactik.recordings.tracking import TrackingOptions
from exactik.solvers.batch import BatchResult
from exactik.typing import Array

__all__ = ["describe_tracks", "make_problem", "make_recordings", "make_targets", "solve", "track"]

STARTS = {"auto": 1, "levenberg-marquardt": 1, "gauss-newton": 2}


def make_figure(kind: str) -> Skeleton:
    """A small tree: "mixed", a joint of every kind; "coupled", where one hinge follows another."""
    bones = [
        Bone("base", joint=Joint.free("quaternion")),
        Bone("a", parent="base", offset=(0.1, 0.0, 0.3), joint=Joint.euler("ZYX")),
        Bone("b", parent="a", offset=(0.0, 0.1, 0.3), joint=Joint.exp_map()),
        Bone("c", parent="a", offset=(0.0, -0.1, 0.3), joint=Joint.swing_twist("z")),
        Bone("d", parent="c", offset=(0.0, 0.0, 0.2), joint=Joint.prismatic((0.6, 0.0, 0.8))),
        Bone("e", parent="b", offset=(0.0, 0.0, 0.2), joint=Joint.revolute((0.0, 0.6, 0.8))),
    ]
    couplings = []
    if kind == "coupled":
        bones = [
            Bone("base", joint=Joint.revolute("z", limits=(-0.2, 0.2))),
            Bone("b", parent="base", offset=(0.3, 0.0, 0.0), joint=Joint.revolute("y")),
            Bone("d", parent="b", offset=(0.3, 0.0, 0.0), joint=Joint.revolute("y")),
            Bone("e", parent="d", offset=(0.2, 0.0, 0.0), joint=Joint.screw("x", 0.05)),
        ]
        couplings = [Coupling("d.ry", "b.ry", Linear(0.5, 0.1))]
    corners = {"P": (0.1, 0.0, 0.0), "Q": (0.0, 0.1, 0.0), "R": (0.0, 0.0, 0.1)}
    markers = {f"{b}{m}": (b, x) for b in ("base", "b", "d", "e") for m, x in corners.items()}
    return Skeleton.build(kind, bones, markers, couplings=couplings)


def make_problem(kind: str) -> ik.Problem:
    """Markers, an orientation and a weak pull to rest."""
    skeleton = make_figure(kind)
    pose = skeleton.forward(skeleton.neutral())
    goals = [ik.MarkerGoal(m, t) for m, t in zip(skeleton.markers, pose.markers, strict=True)]
    turned = pose.rotations[skeleton.bone_index("e")]
    orientation = ik.OrientationGoal("e", turned, weight=0.1)
    return ik.Problem(
        skeleton, [*goals, orientation, ik.PostureGoal(skeleton.neutral(), weight=1e-3)]
    )


def make_targets(problem: ik.Problem, count: int) -> dict[str, Array]:
    """Markers of random poses, 5 mm off."""
    skeleton, rng = problem.skeleton, np.random.default_rng(3)
    steps = rng.normal(scale=0.3, size=(count, skeleton.nv))
    poses = [skeleton.forward(q) for q in skeleton.integrate(skeleton.neutral(), steps)]
    places = np.array([pose.markers for pose in poses])
    places += rng.normal(scale=0.005, size=places.shape)
    return {name: places[:, k] for k, name in enumerate(skeleton.markers)}


def solve(kind: str, solver: str, count: int, device: str) -> BatchResult:
    """Solve a batch with the number of starts that goes with the solver."""
    problem = make_problem(kind)
    targets = make_targets(problem, count)
    return ik.solve_batch(problem, targets, solver=solver, starts=STARTS[solver], device=device)


def make_recordings(skeleton: Skeleton, count: int, frames: int) -> list[ik.Markers]:
    """Smooth motions, 3 mm off, of which the last marker is lost for a while."""
    rng, recordings = np.random.default_rng(5), []
    for _ in range(count):
        span = np.sin(np.linspace(0.0, 1.5, frames))[:, None]
        steps = span * rng.normal(scale=0.2, size=skeleton.nv)
        q = skeleton.clip(skeleton.integrate(skeleton.neutral(), steps))
        positions = np.array([skeleton.forward(pose).markers for pose in q])
        positions += rng.normal(scale=0.003, size=positions.shape)
        positions[2:4, -1] = np.nan
        recordings.append(ik.Markers(positions, tuple(skeleton.markers), rate=100.0))
    return recordings


def track(
    kind: str, robust: str | None, count: int, frames: int, segment_frames: int, device: str
) -> list[ik.Track]:
    """Track recordings, frame by frame, with segments of a given length.

    To a tolerance far above rounding: the number of steps is then the same on all devices.
    """
    skeleton = make_figure(kind)
    solver = ik.Auto(metric="dof", tolerance=1e-4, initial_damping=1e-3, detour=False, escape=False)
    return ik.track_many(
        skeleton,
        make_recordings(skeleton, count, frames),
        device=device,
        threads=1,
        smooth=None,
        branches=False,
        robust=robust,
        starts=2,
        solver=solver,
        options=TrackingOptions(segment_frames=segment_frames),
    )


def describe_tracks(tracks: list[ik.Track]) -> dict[str, Any]:
    """Poses, counts and the device, for JSON."""
    return {
        "q": [track.motion.q.tolist() for track in tracks],
        "iterations": [track.iterations.tolist() for track in tracks],
        "device": tracks[0].device,
    }


if __name__ == "__main__":
    import exactik.kernels.cuda.follow

    exactik.kernels.cuda.follow.CHUNK_COURSES = 1  # so that there are several chunks
    answers = {}
    for case in sys.argv[2:]:
        kind, _, method = case.partition(":")
        if kind == "track":
            loss = None if method == "quadratic" else method
            answers[case] = describe_tracks(track("coupled", loss, 2, 6, 3, "cuda"))
            continue
        found = solve(kind, method, int(sys.argv[1]), "cuda")
        answers[case] = {
            "q": found.q.tolist(),
            "errors": {name: e.tolist() for name, e in found.goal_errors.items()},
            "evaluations": found.evaluations.tolist(),
            "attempts": found.attempts.tolist(),
            "ended": found.ended.tolist(),
            "device": found.device,
        }
    print(json.dumps(answers))
