"""Options are said once: as keywords, on the command line, in the key of archives, on the page."""

from __future__ import annotations

import inspect
import json
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import exactik as ik
from exactik._options import list_options
from exactik.archive import ArchiveOptions, RetargetArchiveOptions, TakeOptions, retarget_archive
from exactik.cli import command
from exactik.io import ConvertOptions
from exactik.recordings.calibration import CalibrateOptions
from exactik.recordings.pipeline import RecordingOptions
from exactik.recordings.tracking import TrackOptions
from exactik.retargeting import RetargetOptions
from exactik.solvers import SolveOptions
from tools.options_table import SECTIONS, TARGET, make_page

RECORDS = {
    ik.solve: SolveOptions,
    ik.track: TrackOptions,
    ik.calibrate: CalibrateOptions,
    ik.solve_archive: ArchiveOptions,
    ik.retarget: RetargetOptions,
    retarget_archive: RetargetArchiveOptions,
    ik.convert: ConvertOptions,
}


@pytest.mark.parametrize(("function", "record"), RECORDS.items(), ids=lambda x: x.__name__)
def test_fields_are_keywords_with_their_defaults_and_help(function, record):
    parameters = inspect.signature(function).parameters
    options = list_options(record)
    assert list(parameters)[2:] == list(options) == [f.name for f in fields(record)]
    for name, (one, said) in options.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default in (one.default, inspect.Parameter.empty)
        assert f"        {name}: {said.help[:20]}" in function.__doc__
    with pytest.raises(ik.UsageError, match=f"{function.__name__} has no argument 'colour'"):
        function(None, None, colour="red")


def test_a_misspelt_keyword_is_told_the_right_one():
    with pytest.raises(ik.UsageError, match="no argument 'smoth'; did you mean 'smooth'"):
        ik.track(None, None, smoth=None)  # pyright: ignore


def test_operands_may_be_named(two_dofs=("a.rz",)):
    arm = ik.Skeleton.build("arm", [ik.Bone("a", joint=ik.Joint.revolute("z"))])
    problem = ik.Problem(arm, ik.PositionGoal("a", (0.0, 0.0, 0.0)))
    assert ik.solve(problem=problem).reached and arm.dof_names == two_dofs
    with pytest.raises(TypeError, match="markers"):
        ik.track(arm)  # pyright: ignore


def test_records_are_frozen_and_their_key_is_plain_data():
    options = ArchiveOptions(skeleton="human", lock=("head",), threads=4).of_takes()
    with pytest.raises(FrozenInstanceError):
        options.limits = "off"  # pyright: ignore
    facts = json.loads(json.dumps(options.to_dict()))
    assert facts == json.loads(json.dumps(replace(options, threads=1).to_dict()))
    known = {**facts, **facts["recording"], **facts["tracking"]}
    assert {f.name for f in fields(TakeOptions)} - known.keys() == {"threads"}


def test_the_command_line_makes_the_record():
    app, made = typer.Typer(), []

    @command("", under=app)
    def run(options: RecordingOptions) -> None:
        made.append(options)

    for words in (
        [],
        "--robust huber --sigma 2 --no-branches --subject all --lock a --lock b".split(),
    ):
        assert CliRunner().invoke(app, words).exit_code == 0
    assert made[0] == RecordingOptions()
    assert made[1] == RecordingOptions(
        robust="huber", sigma=0.002, branches=False, person="all", lock=("a", "b")
    )
    for words in ("--robust none --smooth none", "--smooth 6 --length-unit 0.01 --angles both"):
        assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert (made[2].robust, made[2].smooth) == (None, None)
    assert np.isclose([made[3].smooth, made[3].length_unit], [6.0, 0.01]).all()


def test_the_page_has_all_options_as_they_are():
    assert TARGET.read_text("utf-8") == make_page(), "run tools/options_table.py --write"
    told = {name for records in SECTIONS.values() for r in records for name in list_options(r)}
    assert told >= {f.name for record in RECORDS.values() for f in fields(record)}
