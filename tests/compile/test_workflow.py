"""The workflow that makes wheels: what can be known of it without running it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.checkout import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "wheels.yml"
LEVELS = {"x86_64": ["x86-64-v3", "x86-64-v2"], "amd64": ["x86-64-v3", "x86-64-v2"]}
GENERIC = {"aarch64": ["generic"], "arm64": ["generic"]}


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    assert set(workflow[True]) == {"workflow_dispatch", "pull_request", "release"}  # "on"
    return workflow["jobs"]


def test_every_platform_has_the_levels_of_its_processors(jobs: dict[str, Any]):
    rows = jobs["wheel"]["strategy"]["matrix"]["include"]
    assert {row["platform"].partition("_")[0] for row in rows} == {"manylinux", "macosx", "win"}
    for row in rows:
        processor = row["platform"].partition("_")[2]
        assert row["levels"].split() == {**LEVELS, **GENERIC}[processor], row
        assert set(row) == {"platform", "runner", "levels", "experimental"}
    assert len({row["platform"] for row in rows}) == len(rows) == 5


def test_files_and_jobs_that_the_workflow_names_exist(jobs: dict[str, Any]):
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    (build,) = (step["env"] for step in steps if "cibuildwheel" in step.get("uses", ""))
    (script,) = (word for word in build["CIBW_TEST_COMMAND"].split() if word.endswith(".py"))
    assert (ROOT / script.removeprefix("{project}/")).is_file()
    assert set(jobs["publish"]["needs"]) <= set(jobs)
    assert "id-token" in jobs["publish"]["permissions"]
