"""Real takes to three figures and a robot: feet stand, wrists are in place, nothing jumps.

Prints the table of docs/retargeting.md: `pytest -m slow -s tests/retargeting`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import exactik as ik
from exactik.io import find_skeleton_beside
from exactik.model.motion import Motion
from exactik.retargeting import retarget
from tests.support.retargeting_judge import Measured, measure, share_of_stances_held

MAX_SECONDS = 10.0  # of a take; longer ones are cut

TAKES = """
    asf_amc/cmu02/02_01.amc
    asf_amc/cmu11/11_01.amc
    asf_amc/cmu_backflip/backflip.amc
    asf_amc/endorphin/walking.amc
    asf_amc/hdm05_bk/HDM_bk_elbowToKnee1RepsLelbowStart_007_120.amc
    asf_amc/hdm05_bk/HDM_bk_sneak2StepsLStart_006_120.AMC
    asf_amc/hdm05_dg/HDM_dg_01-03_01_120.amc
    asf_amc/hdm05_dg/HDM_dg_03-05_02_120.amc
    asf_amc/hdm05_dg_crlf/HDM_dg_06-03_03_120.amc
    asf_amc/hdm05_mm/HDM_mm_lieDownFloor_017_120.amc
    bvh/bandai_namco/dataset-1_bow_active_001.bvh
    bvh/blender_makehuman/walk1.bvh
    bvh/bvh_toolbox/walk01.bvh
    bvh/cmu_3dsmax/131_01.bvh
    bvh/cmu_cgspeed/02_01.bvh
    bvh/cmu_cgspeed/11_01.bvh
    bvh/cmu_daz/pirouette.bvh
    bvh/eyes_japan/sample.bvh
    bvh/mixamo/test_freebvh.bvh
    bvh/motionbuilder/AV_8Walk_Meredith_HVHA_Rep1.bvh
    bvh/odd/custom_skeleton_walk_example.bvh
    bvh/perception_neuron/test.bvh
    bvh/pybvh/bvh_example.bvh
    bvh/pybvh/bvh_test2.bvh
    bvh/xia/example.bvh
""".split()


def load_take(path: Path) -> Motion:
    skeleton = None
    if path.suffix.lower() == ".amc":
        skeleton = ik.load_skeleton(find_skeleton_beside(str(path)))
    motion = ik.load_motion(path, skeleton, length_unit="auto")
    return motion.between(0.0, MAX_SECONDS)


FIGURES: dict[str, Callable[[Path], ik.Skeleton]] = {
    "human": lambda _: ik.human(),
    "CesiumMan.glb": lambda data: ik.load_skeleton(data / "gltf/khronos/CesiumMan.glb"),
    "mixamo.bvh": lambda data: load_take(data / "bvh/mixamo/test_freebvh.bvh").skeleton,
    "g1": lambda data: ik.load_skeleton(data / "robots/mjcf/unitree_g1__g1.xml"),
}


@pytest.mark.slow
@pytest.mark.parametrize("figure", FIGURES)
def test_real_takes(shared_data: Path, figure: str, capsys: pytest.CaptureFixture[str]):
    data = shared_data / "data"
    failures: list[str] = []
    rows: list[tuple[Measured, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ik.FileWarning)
        target = FIGURES[figure](data)
        for take in TAKES:
            motion = load_take(data / take)
            begin = time.process_time()
            result = retarget(motion, target)
            speed = len(motion) / (time.process_time() - begin)
            judged, name = measure(result), Path(take).name
            rows.append((judged, speed))
            with capsys.disabled():
                print(
                    f"{figure:14} {name[:44]:44} {len(motion):5} frames  slide {judged.slide:.3f} "
                    f"mm  hands {judged.hand:6.2f} % ({100 * judged.hand_frames:.1f} % of frames) "
                    f" limits {judged.limit:.1g}  jumps {judged.jumps}  {speed:5.0f} frames/s"
                )
            failures += [f"{name}: {fault}" for fault in _find_faults(judged)]
            if share_of_stances_held(result) < 0.9:
                failures.append(f"{name}: stances were not seen")
    good = sum(judged.good for judged, _ in rows)
    with capsys.disabled():
        print(
            f"{figure:14} {good} of {len(rows)} takes as they should be; slide at most "
            f"{max(judged.slide for judged, _ in rows):.3f} mm; "
            f"{sorted(speed for _, speed in rows)[len(rows) // 2]:.0f} frames/s (median)"
        )
    assert failures == []


def _find_faults(judged: Measured) -> list[str]:
    faults = []
    if judged.slide > 1.0:
        faults.append(f"feet slide {judged.slide:.2f} mm")
    if judged.limit > 0.0:
        faults.append(f"limits left by {judged.limit:.2g}")
    if judged.hand > 2.0:
        faults.append(f"a wrist is off by {judged.hand:.1f} % in its worst frame")
    if judged.jumps > 0:
        faults.append(f"{judged.jumps} jumps")
    return faults
