"""Section gmr: real takes to the Unitree G1, beside the way of GMR (Araujo, Ze et al., 2025).

GMR scales places of joints about the pelvis, then descends twice a frame with mink, from the pose
of the frame before: for turns, pelvis and feet, then for all places. Its weights and scales for
SMPL-X and the G1 are those that its repository publishes (July 2025). Both get the same takes; one
measure judges both. Its targets are SMPL-X's joints, taken from anatomical frames of the source.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import exactik as ik
from benchmarks.retargeting import load_takes
from benchmarks.support.report import Metric, Report
from exactik.errors import FileError, UnknownNameError
from exactik.io.robots import find_robot
from exactik.retargeting import Retargeting, SourceBody
from exactik.spatial import matrix_from_wxyz
from exactik.typing import Array

TAKES = 6
LEGS, ARMS = 0.9, 0.8  # scales of places seen from the pelvis, for a person of HEIGHT
HEIGHT = 1.8  # [m]
LEG_SHARE = 0.491  # of a person's height, from hip to ankle
PELVIS_ABOVE_HIPS = 0.09  # [m] of SMPL-X's pelvis, for a person of HEIGHT
DAMPING, SOLVER, MAX_ITERATIONS, ENOUGH = 0.5, "daqp", 10, 1e-3
TOE = (0.1, 0.0, -0.02)  # of the body that GMR adds to its G1 below each ankle [m]
SMPL_AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # x left, y up, z forward


class Match(NamedTuple):
    """A body of the robot, and what it follows."""

    part: str  # of the source
    scale: float
    costs: tuple[tuple[float, float], tuple[float, float]]  # place and turn, of both descents
    offset: tuple[float, ...]  # turn of the body against SMPL-X's joint, w x y z


FACING = (0.5, -0.5, -0.5, -0.5)
HIP = (0.4267755, -0.5637931, -0.5637931, -0.4267755)
LIMB, FOOT = ((0.0, 10.0), (10.0, 5.0)), ((100.0, 10.0), (100.0, 50.0))
MATCHES = {
    "pelvis": Match("pelvis", LEGS, ((100.0, 10.0), (100.0, 5.0)), FACING),
    "torso_link": Match("chest", LEGS, ((0.0, 10.0), (0.0, 10.0)), FACING),
    **{
        f"{side}_{body}": Match(f"{side}_{part}", scale, costs, offset)
        for side, straight, along in (
            ("left", (0.70710678, 0.0, -0.70710678, 0.0), (1.0, 0.0, 0.0, 0.0)),
            ("right", (0.0, 0.70710678, 0.0, 0.70710678), (0.0, 0.0, 0.0, -1.0)),
        )
        for body, part, scale, costs, offset in (
            ("hip_roll_link", "thigh", LEGS, LIMB, HIP),
            ("knee_link", "shin", LEGS, LIMB, FACING),
            ("toe_link", "foot", LEGS, FOOT, FACING),
            ("shoulder_yaw_link", "upper_arm", ARMS, LIMB, straight),
            ("elbow_link", "forearm", ARMS, LIMB, along),
            ("wrist_yaw_link", "hand", ARMS, LIMB, along),
        )
    },
}


def find_targets(source: SourceBody) -> dict[str, tuple[Array, Array]]:
    """Return where bodies should be and how turned: name → places (T, 3), turns (T, 3, 3)."""
    figure = source.figure
    ratio = figure.leg_length / LEG_SHARE / HEIGHT
    pelvis_turn = _turn_as_smpl(source, "pelvis")
    above = PELVIS_ABOVE_HIPS * ratio * pelvis_turn[:, :, 1]
    root = source.hip_centres() + above - [0.0, 0.0, source.ground - figure.ankle_height]
    found = {}
    for name, match in MATCHES.items():
        if match.part == "pelvis":
            place = root
        elif match.part.endswith("foot"):
            place = source.ball(match.part.split("_")[0])
        else:
            place = source.positions[:, figure.start_of(match.part)]
        if match.part != "pelvis":
            place = place - [0.0, 0.0, source.ground - figure.ankle_height]
        scaled = LEGS * ratio * root + match.scale * ratio * (place - root)
        turned = _turn_as_smpl(source, match.part) @ matrix_from_wxyz(np.array(match.offset))
        found[name] = (scaled, turned)
    return found


def _turn_as_smpl(source: SourceBody, part: str) -> Array:
    """Return how SMPL-X's joint of a part is turned, (T, 3, 3): as the world's axes in a T-pose."""
    figure, body = source.figure, np.eye(3)
    straight = {"left": body[1], "right": -body[1]}.get(part.split("_")[0], body[1])
    if any(word in part for word in ("thigh", "shin")):
        straight = -body[2]
    held = np.stack([straight, body[0], np.cross(straight, body[0])], axis=1)
    if part in ("pelvis", "chest") or part.endswith("foot"):
        held = body
    turned = source.rotations[:, figure.index_of(part)] @ figure.part_frames[part]
    return turned @ held.T @ SMPL_AXES


class TwoDescents:
    """The descents of a frame, in mink."""

    def __init__(self, path: str):
        import mink  # pyright: ignore[reportMissingImports]
        import mujoco

        spec = mujoco.MjSpec.from_file(path)
        for side in ("left", "right"):
            spec.body(f"{side}_ankle_roll_link").add_body(name=f"{side}_toe_link", pos=TOE)
        self.mink, self.model = mink, spec.compile()
        self.configuration = mink.Configuration(self.model)
        self.tasks: list[dict[str, Any]] = []
        for n in range(2):
            costs = {name: match.costs[n] for name, match in MATCHES.items()}
            self.tasks.append(
                {
                    name: mink.FrameTask(name, "body", place, turn, lm_damping=1.0)
                    for name, (place, turn) in costs.items()
                }
            )

    def follow(self, targets: dict[str, tuple[Array, Array]]) -> Array:
        """Return poses (T, nq)."""
        mink, poses = self.mink, []
        for t in range(len(targets["pelvis"][0])):
            for tasks in self.tasks:
                for name, (places, turns) in targets.items():
                    turn = mink.SO3.from_matrix(turns[t])
                    pose = mink.SE3.from_rotation_and_translation(turn, places[t])
                    tasks[name].set_target(pose)
                self._descend(list(tasks.values()))
            poses.append(self.configuration.q.copy())
        return np.array(poses)

    def _descend(self, tasks: list[Any]) -> None:
        dt = self.model.opt.timestep
        before, error = np.inf, self._measure(tasks)
        for _ in range(MAX_ITERATIONS + 1):
            if before - error <= ENOUGH:
                break
            step = self.mink.solve_ik(self.configuration, tasks, dt, SOLVER, damping=DAMPING)
            self.configuration.integrate_inplace(step, dt)
            before, error = error, self._measure(tasks)

    def _measure(self, tasks: list[Any]) -> float:
        errors = [task.compute_error(self.configuration) for task in tasks]
        return float(np.linalg.norm(np.concatenate(errors)))


def measure(result: Retargeting) -> list[float]:
    """Return what a motion is worth, in the order of `HEADS`."""
    wrists = 100.0 * np.concatenate(list(result.hand_errors.values()))
    hinges = result.motion.q[:, 7:]
    jerk = np.diff(hinges, n=3, axis=0) * result.motion.rate**3
    crossed = 1e3 * np.maximum(-result.crossings.gaps, 0.0)
    return [
        float(np.median(wrists)),
        float(np.percentile(wrists, 95.0)),
        1e3 * float(result.foot_slides.max(initial=0.0)),
        1e3 * float(np.mean(result.foot_slides)) if len(result.contacts) > 0 else 0.0,
        result.limit_excess,
        float(crossed.max()),
        100.0 * float((crossed > 1.0).mean()),
        1e-3 * float(np.sqrt((jerk**2).mean())),
    ]


HEADS = ["wrist %", "95th", "slide mm", "mean", "limits", "cross mm", "% frames"]
HEADS += ["jerk 10³ rad/s³", "f/s"]


def run(report: Report) -> None:
    """Measure and print the section."""
    try:
        path = str(find_robot("unitree_g1"))
        TwoDescents(path)
    except (FileError, UnknownNameError, ImportError) as error:
        report.console.print(f"gmr is left out: {error}")
        return
    robot, rows = ik.load_skeleton(path), {"exactik": [], "without apart": [], "GMR": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        takes = list(load_takes())[::3][:TAKES]
        for _, motion in takes:
            for name, apart in (("exactik", True), ("without apart", False)):
                begin = time.process_time()
                result = ik.retarget(motion, robot, self_collision=apart)
                spent = time.process_time() - begin
                rows[name].append([*measure(result), len(result.motion) / spent])
            peer = TwoDescents(path)  # another take begins anew, as another run of GMR does
            begin = time.process_time()
            targets = find_targets(result.source_body)
            q = peer.follow(targets)
            spent = time.process_time() - begin
            other = replace(result, motion=replace(result.motion, q=q), held_off={})
            rows["GMR"].append([*measure(other), len(q) / spent])
    report.title(f"gmr: {len(takes)} takes to the Unitree G1, medians over takes")
    medians = {name: np.median(values, axis=0) for name, values in rows.items()}
    worst = {name: np.max(values, axis=0) for name, values in rows.items()}
    table = [
        [name, *(f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in values)]
        for name, values in medians.items()
    ]
    table += [
        [f"{name}, worst", *(f"{v:.2g}" if v < 10 else f"{v:.0f}" for v in values)]
        for name, values in worst.items()
    ]
    report.table(["", *HEADS], table)
    ratio = medians["exactik"][-1] / medians["GMR"][-1]
    report.add(Metric("frames/s, exactik / GMR", float(ratio), "×"))
