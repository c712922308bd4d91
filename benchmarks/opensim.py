"""Section opensim: inverse kinematics of its models beside OpenSim itself, one thread each.

Processor time a frame, of a recording played forth and back until it is long: what a clip costs
once, loading and first starts, is told apart. OpenSim's tool runs at its default accuracy of 1e-5,
on the clip once and on its first frame alone; the difference is what the frames take. Measured in
turns, the least of each.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.support.report import Metric, Report
from exactik.errors import FileWarning
from exactik.io import load_ik_setup, load_opensim_model, load_timed_markers
from exactik.io.opensim import build_skeleton
from exactik.model import Skeleton
from exactik.model.motion import Markers
from exactik.recordings.pipeline import TaskSetup, solve_ik_setup, track_tasks
from exactik.typing import Array
from tests.support.opensim_files import JUDGE, find_judge

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "opensim"
ROUNDS = 3
SHORT, LONG = 5, 25  # times forth and back; the difference tells the time of a frame
FASTER_BAR = 300.0  # times, asked for
COUPLERS_BAR = 2.0  # times, likewise


@dataclass(frozen=True)
class Clip:
    """A set-up file laid out with its model and recording, and the frames it asks for."""

    name: str
    setup: Path
    markers: Markers
    times: Array


def run(report: Report) -> None:
    report.title("OpenSim: inverse kinematics beside its own tool")
    judge = find_judge()
    if judge is None or not DATA.is_dir():
        report.console.print("  needs OpenSim (EXACTIK_OPENSIM_PYTHON) and its models")
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FileWarning)
        gait, jump = _lay_out_gait(Path(folder)), _lay_out_jump(Path(folder))
        for clip in (gait, jump):
            _measure(report, judge, clip)
        _measure_couplers(report, jump)


def _measure(report: Report, judge: str, clip: Clip) -> None:
    solve_ik_setup(clip.setup, branches=False)
    theirs, ours, their_clip, our_clip = [], [], [], []
    for _ in range(ROUNDS):
        one, all_frames = (_time_judge(judge, clip, last) for last in (0, -1))
        theirs.append((all_frames - one) / (len(clip.times) - 1))
        their_clip.append(all_frames)
        ours.append(_time_frame(clip, _load_skeleton(clip)))
        our_clip.append(_time(lambda: solve_ik_setup(clip.setup, branches=False)))
    faster = min(theirs) / min(ours)
    clip_words = f"files and all {len(clip.times)} frames"
    report.add(
        Metric(f"{clip.name}: OpenSim, {clip_words}", 1e3 * min(their_clip), "ms"),
        Metric(f"{clip.name}: exactik, {clip_words}", 1e3 * min(our_clip), "ms"),
        Metric(f"{clip.name}: OpenSim, a frame", 1e3 * min(theirs), "ms"),
        Metric(f"{clip.name}: exactik, a frame", 1e3 * min(ours), "ms"),
        Metric(f"{clip.name}: times faster, a frame", faster, "", FASTER_BAR, at_least=True),
    )


def _measure_couplers(report: Report, clip: Clip) -> None:
    """Measure a frame of the same figure with couplers, and with free dofs in their place."""
    coupled = _load_skeleton(clip)
    free = Skeleton.build(coupled.name, coupled.bones, coupled.markers)
    times = [(_time_frame(clip, coupled), _time_frame(clip, free)) for _ in range(ROUNDS)]
    with_couplers, without = np.min(times, axis=0)
    report.add(
        Metric(f"{clip.name}: a frame without its couplers", 1e3 * without, "ms"),
        Metric(f"{clip.name}: times as long with them", with_couplers / without, "", COUPLERS_BAR),
    )


def _time(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _time_judge(judge: str, clip: Clip, last: int) -> float:
    """Return the time of OpenSim's tool up to a frame [s]."""
    out = clip.setup.with_name("seconds.npz")
    ends = (str(clip.times[0]), str(clip.times[last]))
    command = [judge, str(JUDGE), "ik", str(clip.setup), str(out), "--time-range", *ends]
    subprocess.run([*command, "--accuracy", "1e-5"], check=True, capture_output=True, timeout=300)
    with np.load(out) as file:
        return float(file["seconds"])


def _load_skeleton(clip: Clip) -> Skeleton:
    return build_skeleton(load_opensim_model(load_ik_setup(clip.setup).model_path))


def _time_frame(clip: Clip, skeleton: Skeleton) -> float:
    """Return the time of a frame of a long recording [s]."""
    setup = load_ik_setup(clip.setup)
    model = load_opensim_model(setup.model_path)
    tasks = TaskSetup(
        path=setup.path,
        marker_path=setup.marker_path,
        coordinate_path=setup.coordinate_path,
        marker_weights=setup.marker_weights,
        coordinate_tasks=setup.coordinate_tasks,
    )
    count = len(clip.times)
    loop = np.concatenate([np.arange(count), np.arange(count - 2, 0, -1)])

    def follow(repeats: int) -> float:
        frames = np.tile(loop, repeats)
        markers = replace(clip.markers, positions=clip.markers.positions[frames])
        times = clip.times[frames]
        return _time(lambda: track_tasks(tasks, model, skeleton, markers, times, branches=False))

    return (follow(LONG) - follow(SHORT)) / ((LONG - SHORT) * len(loop))


def _lay_out_gait(folder: Path) -> Clip:
    target = folder / "gait2354"
    shutil.copytree(DATA / "gait2354", target)
    setup = target / "subject01_Setup_IK.xml"
    asked = load_ik_setup(setup)
    markers, times = load_timed_markers(asked.marker_path)
    inside = (times >= asked.time_range[0] - 1e-9) & (times <= asked.time_range[1] + 1e-9)
    cut = replace(markers, positions=markers.positions[inside])
    return Clip(name="gait2354", setup=setup, markers=cut, times=times[inside])


def _lay_out_jump(folder: Path) -> Clip:
    source, target = DATA / "laiarnold_s5_dropjump", folder / "jump"
    target.mkdir()
    shutil.copy(next(source.glob("*.osim")), target / "model.osim")
    shutil.copy(source / "DJ1.trc", target / "markers.trc")
    tasks = "".join(
        f'<IKMarkerTask name="{marker.name}"><apply>true</apply><weight>1</weight></IKMarkerTask>'
        for marker in load_opensim_model(target / "model.osim").markers
    )
    (target / "setup.xml").write_text(
        '<OpenSimDocument Version="40000"><InverseKinematicsTool name="equal">'
        "<model_file>model.osim</model_file><marker_file>markers.trc</marker_file>"
        f"<IKTaskSet><objects>{tasks}</objects></IKTaskSet><time_range>-Inf Inf</time_range>"
        "<output_motion_file>out.mot</output_motion_file>"
        "</InverseKinematicsTool></OpenSimDocument>"
    )
    markers, times = load_timed_markers(target / "markers.trc")
    return Clip(name="drop jump", setup=target / "setup.xml", markers=markers, times=times)
