"""The command line: what it prints, and with which code it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import exactik
from exactik import cli
from exactik.compile import describe_library
from exactik.errors import ModelError
from exactik.lab import check
from exactik.lab.check import CampaignReport, CampaignRow


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call the command line in this process, as the installed script does."""

    def call(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["exactik", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        printed = capsys.readouterr()
        return Ended(code or 0, printed.out, printed.err)

    return call


def outside(*command: str) -> Ended:
    """Run a program."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def strict_json(text: str) -> Any:
    """Parse JSON as others do, who know no NaN and no Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


# --- as a program


def test_the_installed_script_prints_its_version():
    script = Path(sys.executable).with_name("exactik")
    if not script.exists():
        pytest.skip("exactik is not installed beside this Python")
    said = f"exactik {exactik.__version__}, {describe_library()}\n"
    assert outside(str(script), "--version") == Ended(0, said, "")


def test_python_m_is_the_same_program():
    ended = outside(sys.executable, "-W", "error", "-m", "exactik", "--help")
    assert ended.code == 0
    assert "Usage" in ended.out and ended.err == ""
    for command in ("demo", "check", "inspect", "convert", "solve", "calibrate"):
        assert re.search(rf"\b{command}\b", ended.out)


# --- misuse


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["frobnicate"], "frobnicate"),
        (["--frobnicate"], "--frobnicate"),
        (["demo", "--frobnicate"], "--frobnicate"),
        (["demo", "surplus"], "surplus"),
        (["check", "--trees", "0"], "--trees"),
        (["check", "--trees", "many"], "--trees"),
        (["check", "--seed", "x"], "--seed"),
        (["check", "--trees", "1", "--seed", "-1"], "seed"),
    ],
)
def test_misuse_names_what_is_wrong_and_ends_with_two(run, arguments: list[str], word: str):
    ended = run(*arguments)
    assert ended.code == 2
    assert word in ended.err
    assert ended.out == "" and "Traceback" not in ended.err


def test_no_command_shows_the_help(run):
    ended = run()
    assert ended.code in (0, 2)  # which of the two depends on the version of typer
    assert "demo" in ended.out + ended.err


def test_an_error_of_ours_is_one_line_and_ends_with_two(run, monkeypatch: pytest.MonkeyPatch):
    """To the letter: brackets are no markup, and a long line is not broken."""
    message = f"target[2] of goal '[bold]' is nan; expected [lower, upper] {'and so on ' * 20}end"

    def fail(*_: object, **__: object) -> None:
        raise ModelError(message)

    monkeypatch.setattr("exactik.lab.check.run_campaign", fail)
    ended = run("check", "--trees", "1")
    assert ended.code == 2
    assert ended.err.splitlines() == [f"exactik: {message}"]
    assert ended.out == ""


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("exactik.lab.check.run_campaign", fail)
    monkeypatch.setattr(sys, "argv", ["exactik", "check"])
    with pytest.raises(ZeroDivisionError, match="a bug"):
        cli.main()


# --- demo


def test_the_demo_reaches_its_goals_and_says_so(run):
    ended = run("demo", "--reach")
    assert ended.code == 0
    assert "human: 27 bones, 58 dofs, 41 markers" in ended.out
    assert re.search(
        r"^reached: every goal is within its tolerance; worst .* of 1 mm", ended.out, re.M
    )
    errors = re.findall(r"off by +<?([\d.e-]+) ?(mm|°)", ended.out)
    assert len(errors) == 7 and all(float(error) <= 1.0 for error, _ in errors)
    rows = re.findall(r"^ *(\d+) +([\d.e+-]+) +([\d.e+-]+) ", ended.out, re.MULTILINE)
    costs = [float(cost) for _, cost, _ in rows]
    assert len(costs) > 3 and costs == sorted(costs, reverse=True)
    assert float(rows[-1][2]) <= 1e-10


def test_the_demo_as_json(run):
    ended = run("demo", "--reach", "--json")
    assert ended.code == 0
    answer = strict_json(ended.out)
    assert answer["reached"] is True
    assert answer["why"].startswith("reached")
    assert 0 < answer["iterations"] < answer["evaluations"] < 100
    assert answer["projected_gradient"] <= 1e-10
    assert 0.0 < answer["cost"] < 1e-2
    assert answer["seconds"] > 0.0
    assert len(answer["errors"]) == 7
    assert all(0.0 <= error < 1e-3 for error in answer["errors"].values())


# --- check


def test_check_prints_a_table_and_a_verdict(run):
    ended = run("check", "--trees", "3", "--seed", "5")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].split() == ["quantity", "worst", "bar", "compared", "worst", "tree"]
    assert re.fullmatch(r"3 trees, seed 5, [\d.]+ s: all within their bars", lines[-1])
    for quantity in ("forward", "gradient", "exact Hessian", "Hessian product"):
        row = next(line for line in lines if line.startswith(f"{quantity} "))
        assert " ok " in row and " 5/" in row


def test_check_as_json_is_the_report_of_that_seed(run):
    ended = run("check", "--trees", "3", "--seed", "5", "--json")
    assert ended.code == 0
    answer = strict_json(ended.out)
    assert (answer["ok"], answer["trees"], answer["seed"]) == (True, 3, 5)
    assert answer["rows"] == [asdict(row) for row in check.run_campaign(trees=3, seed=5).rows]
    assert {"cost", "gradient", "exact Hessian"} <= {row["quantity"] for row in answer["rows"]}


@pytest.mark.parametrize("worst", [1e-3, float("inf"), float("nan")])
def test_check_ends_with_one_where_a_derivative_is_wrong(
    run, monkeypatch: pytest.MonkeyPatch, worst: float
):
    row = CampaignRow("exact Hessian", worst, 1e-11, 7, 1, 3)
    report = CampaignReport((row,), trees=1, seed=1, seconds=0.1)
    monkeypatch.setattr("exactik.lab.check.run_campaign", lambda *_, **__: report)
    ended = run("check", "--trees", "1")
    assert ended.code == 1
    assert "WRONG" in ended.out and "NOT all within their bars" in ended.out
    ended = run("check", "--trees", "1", "--json")
    assert ended.code == 1
    assert strict_json(ended.out)["ok"] is False


def test_archives_are_not_written_where_the_takes_are(run):
    ended = run("archive", "run", ".", "-o", "../" + Path.cwd().name, "--skeleton", "human")
    assert ended.code == 2 and "where the takes are; expected another folder" in ended.err
