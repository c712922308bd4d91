"""`exactik label`: what it writes, shows and ends with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import exactik as ik
from exactik import cli
from exactik.lab.synthetic import simulate_performance, simulate_recording

LEGS = tuple(
    n for n in ik.human().markers if n[1:] in "FWT BWT THI KNE SHN ANK HEE MT5 TOE".split()
)


def test_points_get_names_in_a_table_and_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    """Legs without names, and a racket; the labels are the lower part of the figure's own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["exactik", "label", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    motion = simulate_performance(2.0, 30.0)
    walk = simulate_recording(motion, noise=0.0005, gaps=0.0, swap=False).markers.chosen(LEGS)
    t = walk.times[:, None, None]
    shape = np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]])
    racket = shape + np.concatenate([2.0 * t, np.sin(5.0 * t), 1.5 + np.cos(4.0 * t)], axis=2)
    racket_names = ("Racket1", "Racket2", "Racket3")
    names = (*(f"*{k}" for k in range(len(LEGS))), *racket_names)
    positions = np.concatenate([walk.positions, racket], axis=1)
    ik.Markers(positions, names, 30.0, up_axis="z").save("points.c3d")

    code, out, _ = run("points.c3d", "-o", "named.c3d", "--marker-set", "own")
    written = ik.load_markers("named.c3d")
    assert set(written.names) == {*LEGS, *racket_names}
    assert np.abs(written.chosen(LEGS).positions - walk.positions).max() < 1e-4
    assert code in (0, 1) and all(name in out for name in LEGS)
    assert "no part of a body" in out and "Racket1" in out

    code, out, _ = run("points.c3d", "--marker-set", "own", "--json")
    data = json.loads(out)
    assert data["subjects"][""]["labels"]["LKNE"]["points"] == [f"*{LEGS.index('LKNE')}"]
    assert data["objects"][0]["names"] == list(racket_names)
    assert data["needs_look"] == (code == 1)

    assert run("points.c3d", "--marker-set", "own", "--like", "named.c3d")[0] == 2
    code, _, err = run("points.c3d", "--marker-set", "nonsense")
    assert code == 2 and "nonsense" in err
