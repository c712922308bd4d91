"""The papers' tables and figures: what is written, what is shown, and what they are made of."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import EntryPoints
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from exactik.cli import app, load_commands, main
from exactik.errors import ExactikError, FileError, UnknownNameError
from exactik.goals import PositionGoal
from exactik.lab.landscape import compute_landscape, find_basins
from exactik.model import human
from exactik.problem import Problem
from exactik.solvers import solve
from exactik_papers import EXPERIMENTS, PAPERS, Recording, Section, load_hdm05, reproduce
from exactik_papers.descents import METHODS, QUASI, SOLVED, SOLVED_COST_CM2
from exactik_papers.exact_hessian.figa10 import GOALS, make_two_link_problem
from exactik_papers.exact_hessian.hybrid import fit_root_rigidly
from exactik_papers.exact_hessian.plain_newton import ENDS, evaluate_two_links
from exactik_papers.exact_hessian.published_hessian import (
    PublishedNewton,
    compute_published_hessian,
)
from exactik_papers.exact_hessian.table4 import STARTS, follow_take
from exactik_papers.page import write_page
from exactik_papers.write import format_cell, write_findings

pytest.importorskip("matplotlib")


class Tables(HTMLParser):
    """The tables of a page: rows of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Section]]:
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduce("figA10", folder)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def shown(folder: Path) -> list[list[list[str]]]:
    parser = Tables()
    parser.feed((folder / "index.html").read_text("utf-8"))
    return parser.tables


# --- what is written


@pytest.mark.full
def test_the_page_shows_the_cells_of_the_files(written: tuple[Path, list[Section]]):
    folder, sections = written
    page = [own for section in sections for own in section.tables if own.table.shown]
    assert len(page) >= 3
    assert shown(folder) == [rows_of(own.path) for own in page]
    text = (folder / "index.html").read_text("utf-8")
    assert all(f'<a href="{own.path.name}">' in text for own in page)
    assert 'src="data:image/png' in text and "http" not in text.replace("http-equiv", "")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.glob("*.png"))


def test_shares_of_figure_a10(written: tuple[Path, list[Section]]):
    header, *rows = rows_of(written[0] / "figA10.csv")
    columns = [header.index(f"{kind} definite %") for kind in ("positive", "negative")]
    columns.insert(1, header.index("indefinite %"))
    found = np.array([[float(row[k]) for k in columns] for row in rows])
    expected = [[13.7, 62.9, 23.4], [17.5, 58.9, 23.5], [21.7, 54.5, 23.8]]
    assert np.abs(found - expected).max() <= 0.1


def test_newtons_own_step_is_attracted_to_saddles_and_auto_is_not(
    written: tuple[Path, list[Section]],
):
    header, *rows = rows_of(written[0] / "figA10-newton.csv")
    found = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert header[1:] == [f"{name} %" for name in ENDS]
    expected = [[19.5, 0.0, 59.5, 20.9], [28.3, 0.0, 48.8, 22.6], [24.4, 0.0, 49.9, 25.6]]
    assert np.abs(found[:, :4] - expected).max() <= 0.2 and found[:, 4].max() < 1.0
    claims = {row[0]: row for row in rows_of(written[0] / "figA10-claims.csv")}
    saddle = claims["Newton's method may be attracted to a saddle"]
    assert saddle[-1] == "holds" and "auto" in saddle[2]
    assert claims["and converge to a local minimum"][-1] == "cannot be said"


@pytest.mark.parametrize("goal", GOALS)
def test_two_links_in_closed_form_are_those_of_the_package(goal: float):
    problem = make_two_link_problem(goal)
    angles = np.random.default_rng(4).uniform(-np.pi, np.pi, (5, 2))
    cost, slope, hessian = evaluate_two_links(angles, goal)
    for k, q in enumerate(angles):
        np.testing.assert_allclose(cost[k], problem.cost(q), atol=1e-12)
        np.testing.assert_allclose(slope[k], problem.gradient(q), atol=1e-12)
        np.testing.assert_allclose(hessian[k], problem.hessian(q), atol=1e-12)


def test_a_small_experiment_on_our_own_recording(tmp_path: Path):
    told = []
    (section,) = reproduce("fig2", tmp_path, progress=lambda *own: told.append(own))
    assert told[0] == ("fig2", 0, 1)
    (header, *rows) = rows_of(tmp_path / "fig2.csv")
    assert [row[0] for row in rows] == ["walking", "punching", "kicking"]
    # f < 1e-2 cm² leaves 41 markers less than √(2 · 41 · 1e-2) = 0.9 cm in sum.
    assert all(float(row[header.index("summed error [cm]")]) < 0.91 for row in rows)
    assert {path.name for path in section.paths} == {"fig2.csv", "fig2.png"}
    assert shown(tmp_path) == [[header, *rows]]


def test_cells():
    cells = [None, True, 3, 0.123456, float("nan"), float("inf"), "x", 1e-22]
    assert [format_cell(cell) for cell in cells] == [
        *("", "yes", "3", "0.1235", "", "never", "x", "1e-22")
    ]


def test_all_experiments_say_what_was_published():
    asked = "table3 table4 fig2 fig3 fig4 fig5 fig6 fig7 fig8 figA10 indefinite".split()
    assert set(asked) <= set(EXPERIMENTS)
    for name, own in EXPERIMENTS.items():
        assert own.name == name and own.paper in PAPERS
        assert len(own.title) > 10 and len(own.published) > 40


# --- misuse


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process: it finds the command of the papers by its entry point."""
    command = [sys.executable, "-m", "exactik", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_unknown_names_and_folders(tmp_path: Path):
    with pytest.raises(UnknownNameError, match=r"no table or figure named 'fig99'.*all, table3"):
        reproduce("fig99", tmp_path)
    with pytest.raises(FileError, match="no such folder; expected one of HDM05"):
        load_hdm05(tmp_path / "nowhere")
    with pytest.raises(FileError, match=r"no folder of HDM05: HDM_dg\.asf"):
        reproduce("figA10", tmp_path, data=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written to"):
        reproduce("fig2", tmp_path / "file")


def test_the_command_says_no_in_one_sentence(tmp_path: Path):
    result = run_command("reproduce", "table9", "-o", str(tmp_path))
    assert result.returncode == 2
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert result.stderr.startswith("exactik: no table or figure named 'table9'")


def test_without_the_papers_the_command_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch):
    ours = [command for command in app.registered_commands if command.name != "reproduce"]
    monkeypatch.setattr(app, "registered_commands", ours)  # another test may have added it
    monkeypatch.setattr("exactik.cli._app.entry_points", lambda group: EntryPoints([]))
    monkeypatch.setattr("sys.argv", ["exactik", "reproduce", "table3"])
    with pytest.raises(SystemExit, match="2"):
        main()


@pytest.mark.full
def test_the_command_answers_in_json(tmp_path: Path):
    result = run_command("reproduce", "fig2", "-o", str(tmp_path), "--json")
    answer = json.loads(result.stdout)
    (table,) = answer["experiments"]["fig2"]["tables"].values()
    assert [row["motion"] for row in table] == ["walking", "punching", "kicking"]


# --- what it is made of


def test_the_protocol_of_the_paper(recording: Recording):
    (take,) = recording.takes.values()
    assert (~take.problem(0).locked).sum() == 58 and len(take.names) == 41
    for chosen in recording.kinds.values():
        assert len(chosen.frames) == 12 and chosen.frames.min() > 0
        for frame in chosen.frames[:2].tolist():
            assert take.problem(frame).cost(take.q[frame]) < 1e-20
            assert take.problem(frame, real=True).cost(take.q[frame]) > 1.0
    low, high = take.q.min(axis=0)[6:], take.q.max(axis=0)[6:]
    limits = take.skeleton.lower[6:], take.skeleton.upper[6:]
    np.testing.assert_allclose(limits[0], low - 0.05 * np.abs(low), rtol=1e-12)
    wide = high + 0.05 * np.abs(high) > limits[0] + 1e-6
    np.testing.assert_allclose(limits[1][wide], (high + 0.05 * np.abs(high))[wide], rtol=1e-12)
    assert np.isinf(take.skeleton.lower[:6]).all()
    height = np.ptp(take.markers[0][:, 2])
    assert 150.0 < height < 190.0  # centimetres


@pytest.mark.full
def test_table_4_of_a_short_take(recording: Recording, tmp_path: Path):
    (take,) = recording.takes.values()
    few = {name: getattr(take, name)[:25] for name in ("q", "markers", "offsets")}
    short = replace(recording, takes={take.name: replace(take, **few)})
    findings = EXPERIMENTS["table4"].run(short, tmp_path, lambda *_: None)
    section = write_findings(EXPERIMENTS["table4"], findings, tmp_path, 1.0)
    write_page(tmp_path / "index.html", [section], short)
    header, *rows = rows_of(tmp_path / "table4.csv")
    assert len(rows) == 11
    error, start = header.index("ours, mean error [cm]"), header.index("first frame from")
    assert all(
        float(row[error]) < 0.91 for row in rows if row[1] != QUASI and row[start] == "data pose"
    )
    shown_rows = [rows_of(own.path) for own in section.tables if own.table.shown]
    assert shown(tmp_path) == shown_rows


def test_frames_follow_their_rule(recording: Recording):
    (take,) = recording.takes.values()
    for kind, names in {"punching": ("LFIN", "RFIN"), "kicking": ("LTOE", "RTOE")}.items():
        frames = recording.kinds[kind].frames
        speed = np.maximum(*(take.speed(name) for name in names))
        assert np.diff(frames).min() > 0.1 * take.rate
        assert speed[frames].max() == pytest.approx(speed[frames[0] - 60 : frames[-1] + 60].max())


def test_the_published_hessian_is_wrong_as_described(recording: Recording):
    """Inside a joint the entry (i, j), i outer, is JᵢᵀJⱼ − r·(ωⱼ × Jᵢ): the inner axis first."""
    (take,) = recording.takes.values()
    frame, figure = int(recording.kinds["kicking"].frames[0]), take.skeleton
    problem, q = take.problem(frame), take.zero(frame)
    exact, wrong = problem.hessian(q), compute_published_hessian(problem, q)
    np.testing.assert_allclose(np.tril(wrong), np.tril(exact), rtol=1e-12, atol=1e-6)
    owner = [name.split(".")[0] for name in figure.dof_names]
    r = problem.residual(q).reshape(-1, 3)
    jacobians = [
        figure.jacobian(q, bone, point)
        for bone, point in zip(take.bones, take.offsets[frame], strict=True)
    ]
    several = 0
    for i in range(figure.nv):
        for j in range(i + 1, figure.nv):
            expected = exact[i, j]
            if owner[i] == owner[j] and figure.turns[i] and figure.turns[j]:
                axis = figure.jacobian(q, owner[j], rows="angular")[:, j]
                expected = sum(
                    J[:, i] @ J[:, j] - own @ np.cross(axis, J[:, i]) * bool(J[:, j].any())
                    for J, own in zip(jacobians, r, strict=True)
                )
                several += 1
            assert wrong[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-5)
    assert several > 20
    assert np.linalg.norm(wrong - exact) > 0.01 * np.linalg.norm(exact)
    at_rest = compute_published_hessian(problem, take.q[frame])
    np.testing.assert_allclose(at_rest, problem.hessian(take.q[frame]), atol=1e-6)
    result = solve(problem, q0=take.warm(frame), solver=PublishedNewton(small_cost=SOLVED_COST_CM2))
    assert result.cost < SOLVED_COST_CM2 and result.evaluations > result.iterations > 0


def test_a_rigid_fit_is_nearer_than_rest(recording: Recording):
    (take,) = recording.takes.values()
    for chosen in recording.kinds.values():
        frame = int(chosen.frames[0])
        problem, q = take.problem(frame), fit_root_rigidly(take, frame)
        assert problem.cost(q) < problem.cost(take.zero(frame))
        np.testing.assert_array_equal(q[6:], take.zero(frame)[6:])
        # It is the best rigid motion: the gradient of the root's dofs vanishes.
        assert np.abs(problem.gradient(q)[:6]).max() < 1e-6 * problem.cost(q)


# --- landscapes


def test_a_landscape_is_that_of_the_problem():
    problem, dofs = make_two_link_problem(1.0), ("first.rz", "second.rz")
    land = compute_landscape(problem, dofs, size=13)
    for (i, j), q in zip(np.ndindex(13, 13), land.poses(), strict=True):
        assert land.cost[i, j] == problem.cost(q)
        values = np.linalg.eigvalsh(problem.hessian(q))
        np.testing.assert_allclose(land.eigenvalues[i, j], values, atol=1e-12)
    found = find_basins(compute_landscape(problem, dofs, size=14))
    np.testing.assert_allclose(found.costs, 0.0, atol=1e-15)
    assert sorted(np.degrees(found.ends[:, 0]).round().tolist()) == [-60.0, 60.0]
    assert found.shares.sum() == pytest.approx(1.0)
    assert "positive definite" in repr(land)


@pytest.mark.parametrize("dofs", [("r_forearm.rz", "r_thigh.ry"), ("head.rx", "pelvis.tz")])
@pytest.mark.parametrize("coupled", [False, True])
def test_any_two_dofs_of_any_figure(dofs: tuple[str, str], coupled: bool):
    figure = human()
    goals = [PositionGoal("r_hand", (0.5, 0, 1)), PositionGoal("head", (0.1, 0, 1.2), name="x")]
    weight = np.eye(6) + 0.2 if coupled else None
    problem = Problem(figure, goals, weight_matrix=weight)
    index = [figure.dof_names.index(dof) for dof in dofs]
    land = compute_landscape(problem, dofs, size=3)
    for (i, j), q in zip(np.ndindex(3, 3), land.poses(), strict=True):
        block = problem.hessian(q)[np.ix_(index, index)]
        np.testing.assert_allclose(land.eigenvalues[i, j], np.linalg.eigvalsh(block), atol=1e-12)


def test_misuse_of_landscapes():
    problem = make_two_link_problem(1.0)
    with pytest.raises(UnknownNameError, match="no dof named 'third'"):
        compute_landscape(problem, ("first.rz", "third"))
    with pytest.raises(ExactikError, match="two different dofs"):
        compute_landscape(problem, ("first.rz", "first.rz"))
    with pytest.raises(ExactikError, match="at least two values"):
        compute_landscape(problem, ("first.rz", "second.rz"), size=1)


def test_the_command_that_draws_maps(tmp_path: Path):
    load_commands(["map"])
    path, numbers = tmp_path / "map.png", tmp_path / "map.csv"
    options = ["human", "--goal", "r_hand=0.4,-0.2,1.2", "--dofs", "r_upper_arm.rx", "r_forearm.rz"]
    for target in (path, numbers):
        result = CliRunner().invoke(app, ["map", *options, "--size", "15", "-o", str(target)])
        assert result.exception is None, result.exception
        assert "% positive definite" in result.stdout
    assert path.read_bytes().startswith(b"\x89PNG")
    header, *rows = rows_of(numbers)
    assert len(rows) == 225 and header[:2] == ["r_upper_arm.rx", "r_forearm.rz"]
    bad = CliRunner().invoke(app, ["map", *options[:1], "--goal", "r_hand", *options[3:]])
    assert "expected a bone or marker and a place" in str(bad.exception)


# --- HDM05


@pytest.mark.slow
def test_table_4_on_the_published_take(shared_data: Path):
    """The exact Hessian with k_max = 10: 0.5 cm or less, as published; on its first frames here."""
    recording = load_hdm05(shared_data / "data" / "asf_amc" / "hdm05_dg")
    take = recording.takes["dg_03-05_02"]
    assert len(take) == 3866 and (~take.problem(0).locked).sum() == 58
    method = METHODS[SOLVED]

    solved = follow_take(
        take, replace(method, max_iterations=10, small_cost=SOLVED_COST_CM2), STARTS[0], 600
    )
    assert solved.error.mean() <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table3", "fig5", "indefinite"])
def test_larger_experiments_run(name: str, tmp_path: Path):
    (section,) = reproduce(name, tmp_path)
    page = [own for own in section.tables if own.table.shown]
    assert shown(tmp_path) == [rows_of(own.path) for own in page]
    (claimed,) = (own for own in page if own.table.name == f"{name}-claims")
    assert len(claimed.cells) > 1
