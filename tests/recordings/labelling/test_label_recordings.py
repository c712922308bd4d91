"""Names removed from recordings of many marker sets come back; what is wrong is doubtful."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.labels import CASES, OTHERS, LabelCase, label_case

# The two markers on the stick of the Codamotion set are 9 mm apart: a coin toss, marked as such.
MIN_RIGHT = {"c3d/codamotion/ADemo1_rewrite_c3d_pc_float.c3d": 0.9}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: Path(case.path).stem)
def test_names_come_back(shared_data: Path, case: LabelCase):
    score = label_case(case, shared_data / "data")
    assert score.right >= MIN_RIGHT.get(case.path, 0.95)
    assert score.doubtful_wrong == score.wrong


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: Path(case.path).stem)
def test_what_no_shape_tells_apart_is_doubtful(shared_data: Path, case: LabelCase):
    score = label_case(case, shared_data / "data")
    assert score.doubtful_wrong == score.wrong
