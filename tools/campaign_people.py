"""People for the campaign: motions of real ones, taken over by figures of other proportions.

Files of AMC and BVH in a folder hold the motions. Each is taken over by the built-in human and
smoothed, as files have jumps that no body makes. Who then does it is drawn: sizes of the parts, how
far joints lie from where the figure that solves has them, and how far their axes are tilted. So the
figure that solves is of another build, and no calibration can make it the same.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import exactik as ik
from exactik.model import Bone, Skeleton
from exactik.model.motion import Motion
from exactik.recordings.calibration.fitting import make_scaled_skeleton
from exactik.spatial import exp_rotation

__all__ = ["MOTIONS", "make_person", "read_motion_of"]

MOTIONS = (
    "asf_amc/cmu02/02_01.amc",
    "asf_amc/cmu11/11_01.amc",
    "asf_amc/cmu_backflip/backflip.amc",
    "asf_amc/endorphin/walking.amc",
    "asf_amc/hdm05_bk/HDM_bk_elbowToKnee1RepsLelbowStart_007_120.amc",
    "asf_amc/hdm05_bk/HDM_bk_sneak2StepsLStart_006_120.AMC",
    "asf_amc/hdm05_dg/HDM_dg_01-03_01_120.amc",
    "asf_amc/hdm05_dg/HDM_dg_03-05_02_120.amc",
    "asf_amc/hdm05_dg_crlf/HDM_dg_06-03_03_120.amc",
    "asf_amc/hdm05_mm/HDM_mm_lieDownFloor_017_120.amc",
    "bvh/bandai_namco/dataset-1_bow_active_001.bvh",
    "bvh/bvh_toolbox/walk01.bvh",
    "bvh/cmu_3dsmax/131_01.bvh",
    "bvh/cmu_daz/pirouette.bvh",
    "bvh/eyes_japan/sample.bvh",
    "bvh/mixamo/test_freebvh.bvh",
    "bvh/motionbuilder/AV_8Walk_Meredith_HVHA_Rep1.bvh",
    "bvh/perception_neuron/test.bvh",
    "bvh/pybvh/bvh_example.bvh",
    "bvh/xia/example.bvh",
)
"""Of sixteen people, below a folder of data: walks, dances, fights, falls, exercises."""

LEAST_SECONDS = 3.0
"""[s] of a motion; a shorter one is gone through forwards and backwards."""
MOST_SECONDS = 5.0  # of a longer one, its middle
RATE = 120.0  # [Hz] at which motions are kept
SMOOTHING = 10.0  # [Hz] above which they have no part

STATURES = (0.86, 1.12)  # of the built-in human, 1.75 m
SCALE_SD = 0.04  # of the size of a part beside that, as people differ
JOINT_SD = 0.006  # [m] of a joint from where the solving figure has it, along each axis
AXIS_SD = np.radians(2.0)  # [rad] of the axes of a joint, likewise, about each axis


def read_motion_of(data: Path, name: str) -> Motion:
    """Return the motion of a file below a folder, as the built-in human does it."""
    path = data / name
    figure = None
    if path.suffix.lower() == ".amc":
        figure = ik.load_skeleton(next(path.parent.glob("*.asf")))
    motion = ik.load_motion(path, length_unit="auto", skeleton=figure)
    frames = np.arange(len(motion.q))
    most = round(MOST_SECONDS * motion.rate)
    first = max((len(frames) - most) // 2, 0)
    frames = frames[first : first + most]
    motion = ik.retarget(replace(motion, q=motion.q[frames], first_frame=0), ik.human()).motion
    there = np.arange(len(motion.q))
    while len(there) < LEAST_SECONDS * motion.rate:
        there = np.concatenate([there, there[::-1][1:]])
    motion = replace(motion, q=motion.q[there]).resampled(RATE)
    markers = ik.Markers(motion.forward().markers, tuple(motion.skeleton.markers), RATE)
    cutoff = min(SMOOTHING, 0.4 * RATE)
    return ik.track(motion.skeleton, markers, smooth=cutoff, branches=False).motion


def make_person(rng: np.random.Generator) -> Skeleton:
    """Return a figure with the bones of the built-in human and another build."""
    figure = ik.human()
    scaled = make_scaled_skeleton(figure, (), "symmetric")
    stature = float(rng.uniform(*STATURES))
    theta = np.log(stature) + SCALE_SD * rng.standard_normal(len(scaled.scale_groups))
    own = scaled.build(theta)
    return Skeleton.build(figure.name, [_change_bone(bone, stature, rng) for bone in own.bones])


def _change_bone(bone: Bone, stature: float, rng: np.random.Generator) -> Bone:
    """Return a bone whose joint lies elsewhere and turns about other axes; its rest pose stays."""
    moved = JOINT_SD * stature * rng.standard_normal(3)
    tilt = np.asarray(exp_rotation(AXIS_SD * rng.standard_normal(3)))
    if bone.parent is None:
        return bone
    pre, post = bone.constant_rotations
    return Bone(
        bone.name,
        parent=bone.parent,
        offset=np.asarray(bone.offset) + moved,
        pre=pre @ tilt,
        joint=bone.joint,
        post=tilt.T @ post,
    )
