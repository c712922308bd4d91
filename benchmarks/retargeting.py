"""Section retargeting: real takes to many robots, and beside the way of GMR for the Unitree G1.

Takes of five kinds (BVH, AMC, GLB, SMPL's NPZ, C3D solved here) to robots of the shared files and
those that `robot_descriptions` has fetched; one that is not on this machine is left out by name.
Times are of the processor, on one core.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import exactik as ik
from benchmarks.support.report import Metric, Report
from exactik.errors import FileError, UnknownNameError
from exactik.io import find_skeleton_beside
from exactik.io.robots import find_robot
from exactik.lab.synthetic import simulate_performance
from exactik.model.motion import Motion
from exactik.retargeting import ClipQuality, measure_quality

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MAX_SECONDS = 2.0  # of a take; longer ones are cut
ROBOTS: dict[str, dict[str, Any]] = {
    "unitree_g1": {},
    "unitree_h1": {},
    "booster_t1": {},
    "fourier_n1": {},
    "pal_talos": {},
    "atlas_v4": {},
    "jvrc": {},
    "romeo": {},
    "icub": {},
    "robots/mjcf/dm_humanoid.xml": {},
    "robots/mjcf/humanoid_CMU_V2020.xml": {"mirror_limits": "left"},
}
FILES = """
    asf_amc/cmu02/02_01.amc
    asf_amc/cmu11/11_01.amc
    asf_amc/endorphin/walking.amc
    asf_amc/hdm05_bk/HDM_bk_elbowToKnee1RepsLelbowStart_007_120.amc
    asf_amc/hdm05_bk/HDM_bk_sneak2StepsLStart_006_120.AMC
    asf_amc/hdm05_dg/HDM_dg_01-03_01_120.amc
    asf_amc/hdm05_dg/HDM_dg_03-05_02_120.amc
    asf_amc/hdm05_dg_crlf/HDM_dg_06-03_03_120.amc
    bvh/bandai_namco/dataset-1_bow_active_001.bvh
    bvh/blender_makehuman/walk1.bvh
    bvh/bvh_toolbox/walk01.bvh
    bvh/cmu_3dsmax/131_01.bvh
    bvh/cmu_cgspeed/11_01.bvh
    bvh/cmu_daz/pirouette.bvh
    bvh/eyes_japan/sample.bvh
    bvh/mixamo/test_freebvh.bvh
    bvh/motionbuilder/AV_8Walk_Meredith_HVHA_Rep1.bvh
    bvh/odd/custom_skeleton_walk_example.bvh
    bvh/perception_neuron/test.bvh
    bvh/xia/example.bvh
    gltf/khronos/CesiumMan.glb
""".split()
ACTS = ("walk", "punch", "squat", "wave")  # of performances that are made: SMPL's NPZ, and C3D


class Taken(NamedTuple):
    """A take that a robot took over."""

    robot: str
    take: str
    quality: ClipQuality
    wrists_held: float  # share of frames in which a wrist is within 2 % but for its own body
    raw_held: float  # likewise, whatever is in the way
    limit_excess: float  # [rad]
    rate: float  # frames a second of processor time

    @property
    def sound(self) -> bool:
        """Whether all but the wrists is in order."""
        return len(set(self.quality.faults) - {"wrist_percent", "jumps"}) == 0


def load_takes() -> Iterator[tuple[str, Motion]]:
    """Yield the names of takes and the takes."""
    for path in FILES:
        skeleton = None
        if path.lower().endswith(".amc"):
            skeleton = ik.load_skeleton(find_skeleton_beside(str(DATA / path)))
        motion = ik.load_motion(DATA / path, skeleton, length_unit="auto")
        yield Path(path).name, motion.between(0.0, MAX_SECONDS)
    for n, act in enumerate(ACTS):
        made = simulate_performance(MAX_SECONDS, rate=60.0, acts=(act,))
        if n % 2 == 0:
            yield f"{act}.npz of SMPL", to_smpl(made)
        else:
            figure = made.skeleton
            markers = ik.Markers(made.forward().markers, tuple(figure.markers), 60.0, up_axis="z")
            yield f"{act}.c3d, solved", ik.track(figure, markers).motion


def to_smpl(motion: Motion) -> Motion:
    """Return a performance as a motion of SMPL's 24 joints of average proportions."""
    from exactik.io.smpl import FAMILY, make_smpl_skeleton, place_average_joints

    name, joints = FAMILY[24]
    skeleton = make_smpl_skeleton(name, joints, place_average_joints(joints))
    return ik.retarget(motion, skeleton, target_up="y").motion


def load_robots(report: Report) -> Iterator[tuple[str, ik.Skeleton, dict[str, Any]]]:
    """Yield robots that are on this machine, with their options."""
    for name, options in ROBOTS.items():
        try:
            path = DATA / name if "/" in name else find_robot(name)
            yield Path(name).stem, ik.load_skeleton(path), options
        except (FileError, UnknownNameError) as error:
            report.console.print(f"{name} is left out: {error}")


def run_campaign(report: Report) -> None:
    """Measure and print what becomes of all takes on all robots."""
    takes = list(load_takes())
    report.title(f"retargeting: {len(takes)} takes of up to {MAX_SECONDS:g} s")
    rows, everything = [], []
    for name, robot, options in load_robots(report):
        done = [take_over(name, robot, take, motion, options) for take, motion in takes]
        everything += done
        qualities = [taken.quality for taken in done]
        rows.append(
            [
                name,
                f"{sum(taken.sound for taken in done)}",
                f"{sum(taken.quality.wrist_percent <= 2.0 for taken in done)}",
                f"{100.0 * np.mean([taken.wrists_held for taken in done]):.1f}",
                f"{100.0 * np.mean([taken.raw_held for taken in done]):.1f}",
                f"{max(q.slide_mm for q in qualities):.3f}",
                f"{max(q.cross_mm for q in qualities):.1f}",
                f"{sum(q.cross_mm <= 1.0 for q in qualities)}",
                f"{sum(q.speed_percent <= 100.0 for q in qualities)}",
                f"{sum(q.jumps for q in qualities)}",
                f"{max(taken.limit_excess for taken in done):.1g}",
                f"{np.median([taken.rate for taken in done]):.0f}",
            ]
        )
        report.console.print(" ".join(rows[-1]), highlight=False)
    heads = "robot,sound,wrists ≤ 2 %,frames ≤ 2 %,whatever is in the way,slide mm,cross mm"
    heads += ",takes ≤ 1 mm,within speeds,jumps,limits left,frames/s"
    report.table([*heads.split(",")], rows)

    def share(condition: list[bool]) -> float:
        return 100.0 * float(np.mean(condition))

    report.add(
        Metric("largest slide", max(t.quality.slide_mm for t in everything), "mm", 1.0),
        Metric("limits left", max(t.limit_excess for t in everything), "rad", 0.0),
        Metric(
            "takes without crossings",
            share([t.quality.cross_mm <= 1.0 for t in everything]),
            "%",
            100.0,
            at_least=True,
        ),
        Metric(
            "takes within speeds",
            share([t.quality.speed_percent <= 100.0 for t in everything]),
            "%",
            100.0,
            at_least=True,
        ),
        Metric(
            "takes with wrists within 2 %",
            share([t.quality.wrist_percent <= 2.0 for t in everything]),
            "%",
            95.0,
            at_least=True,
        ),
    )


def take_over(
    name: str, robot: ik.Skeleton, take: str, motion: Motion, options: dict[str, Any]
) -> Taken:
    """Return what becomes of a take."""
    begin = time.process_time()
    result = ik.retarget(motion, robot, **options)
    rate = len(result.motion) / (time.process_time() - begin)
    errors, raw = (
        np.concatenate(list(each.values())) for each in (result.hand_misses, result.hand_errors)
    )
    return Taken(
        robot=name,
        take=take,
        quality=measure_quality(result),
        wrists_held=float((errors <= 0.02).mean()),
        raw_held=float((raw <= 0.02).mean()),
        limit_excess=result.limit_excess,
        rate=rate,
    )


def run(report: Report) -> None:
    """Measure and print the section."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        run_campaign(report)
