"""`exactik live`."""

from __future__ import annotations

import math
import signal
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from exactik._options import option
from exactik.cli._app import SOLVE, command, complain, err, remark, say
from exactik.cli._options import argument, value_option
from exactik.cli._pose import PageOptions, read_figure
from exactik.errors import UsageError
from exactik.io import files_to_write, suffix_of, writable_suffixes
from exactik.model.motion import Motion
from exactik.recordings.angles import compute_joint_angles, is_body
from exactik.recordings.live import (
    LOOPBACK,
    MIN_PREPARE_SECONDS,
    FileSource,
    FrameSource,
    LiveFrame,
    LiveSession,
    LiveSolver,
    LslSink,
    LslSource,
    MotionFile,
    OptiTrackSource,
    PoseSink,
    QualisysSource,
    UdpSink,
    UdpSource,
    prepare_live,
    read_part,
    remove_part,
)
from exactik.recordings.pipeline import (
    LoadedSkeleton,
    RecordingOptions,
    find_motion_up,
    read_recording,
    write_motion,
)

SHOW_SECONDS = 0.2  # [s] between two looks at angles in the terminal
MIN_FRAMES_TO_FIT = 10  # that a figure can be fitted to
LOCAL = (LOOPBACK, "localhost", "::1")
SOURCES = "qualisys[:PORT], optitrack[:PORT], lsl[:STREAM], udp[:PORT] or a recording to replay"


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """Where frames come from, and where poses go."""

    host: str | None = option(
        None,
        "Machine of the source, or the address to listen at; without it this machine alone.",
        metavar="ADDRESS",
    )
    rate: float | None = option(
        None, "Of a replay, in place of its own; inf: as fast as it is solved.", metavar="HZ"
    )
    calibrate_seconds: float | None = option(
        None, "Fit the figure to the subject in the first so many seconds.", metavar="SECONDS"
    )
    lag: int = option(0, "Give poses so many frames later, smoothed.", metavar="FRAMES", least=0)
    output: str | None = option(
        None, "Motion to write at the end: BVH, GLB, NPZ, ….", metavar="FILE", flags="--output -o"
    )
    send: tuple[str, ...] = option(
        (),
        "udp:PORT, udp:HOST:PORT, or with --host lsl[:NAME]; may be given repeatedly.",
        metavar="WHERE",
    )
    view: bool = option(False, "Show the figure in the browser.", flags="--view")
    seconds: float | None = option(None, "End after so long; else at Ctrl-C.", metavar="SECONDS")


@command(SOLVE)
def live(
    source: Annotated[str, argument("SOURCE", f"{SOURCES}.")],
    *,
    skeleton: Annotated[
        str | None,
        value_option("FIGURE", "The figure with its markers, as `exactik calibrate` writes it."),
    ] = None,
    wanted: LiveOptions,
    options: Annotated[
        RecordingOptions,
        ("limits", "lock", "posture", "weights", "mapping", "up", "axes", "length_unit"),
    ],
    page: PageOptions,
) -> None:
    """Solve markers while people move: poses, joint angles and latencies at once.

    Examples:
        exactik live qualisys --host 192.168.0.10 --skeleton subject.npz --view
        exactik live optitrack --skeleton human --calibrate-seconds 5 -o take.bvh
        exactik live udp:5005 --skeleton subject.npz --send udp:5006
        exactik live walk.c3d --rate 250 --skeleton subject.npz
        exactik live take.bvh.part -o take.bvh
    """
    if wanted.output is not None:
        files_to_write(wanted.output, (source,))
        if suffix_of(wanted.output) not in writable_suffixes("motion"):
            known = " ".join(writable_suffixes("motion"))
            raise UsageError(f"-o is {wanted.output!r}; expected a motion: {known}")
    if source.endswith(".part"):
        _recover(source, wanted.output)
        return
    if skeleton is None:
        raise UsageError("no figure; expected --skeleton with a file, or human")
    figure = read_figure(skeleton)
    session = _make_session(source, figure, wanted, options, page)
    say(f"listening to {session.source.title}; Ctrl-C ends it")
    _run(session, wanted.seconds)
    report = session.report
    for words in report.written:
        say(f"written  {words}")
    say(f"ended    {report.describe()}")
    if report.solved == 0:
        title = session.source.title
        raise UsageError(f"no pose was found: {report.frames} frames came from {title}")


def _make_session(
    name: str,
    figure: LoadedSkeleton,
    wanted: LiveOptions,
    options: RecordingOptions,
    page: PageOptions,
) -> LiveSession:
    """Return what is to be run."""
    calibrate = wanted.calibrate_seconds
    options = replace(options, fit=calibrate is not None)
    source, options = _open_source(name, wanted, figure, options)

    def prepare(frames: Sequence[LiveFrame]) -> LiveSolver:
        if options.fit and len(frames) < MIN_FRAMES_TO_FIT:
            raise UsageError(f"{len(frames)} frames; a fit takes {MIN_FRAMES_TO_FIT} at least")
        solver, notes = prepare_live(
            frames,
            figure.skeleton,
            options,
            skeleton_up=figure.up,
            rate=source.rate,
            up_axis=source.up_axis,
            lag=wanted.lag,
        )
        for note in notes:
            remark(name, note)
        return solver

    def open_sinks(solver: LiveSolver) -> list[PoseSink]:
        sinks = [_open_sink(where, solver, wanted.host) for where in wanted.send]
        if wanted.output is not None:
            sinks.append(MotionFile(wanted.output, solver.skeleton, solver.rate, figure.up))
        if wanted.view:
            sinks.append(_open_page(session, solver, figure.up, page))
        return sinks

    session = LiveSession(
        source,
        prepare,
        open_sinks,
        say=lambda text: complain(text, "dim"),
        prepare_seconds=MIN_PREPARE_SECONDS if calibrate is None else calibrate,
    )
    return session


def _recover(part: str, output: str | None) -> None:
    """Write the motion that a session which was killed has left behind."""
    output = output or part.removesuffix(".part")
    path, words = write_motion(read_part(part), Path(output))[0]
    remove_part(part)
    say(f"written  {path}: {words}")


def _open_source(
    text: str, wanted: LiveOptions, figure: LoadedSkeleton, options: RecordingOptions
) -> tuple[FrameSource, RecordingOptions]:
    """Return the source of that name, and what of the options is still to be done."""
    kind, _, rest = text.partition(":")
    host, rate = wanted.host, wanted.rate
    address = host or LOOPBACK
    if kind in ("qualisys", "optitrack", "udp"):
        port = [] if rest == "" else [_parse_port("SOURCE", text, rest)]
        if kind == "qualisys":
            return QualisysSource(address, *port), options
        if kind == "optitrack":
            return OptiTrackSource(address, *port), options
        return UdpSource(*(port or [0]), host=address), options
    if kind == "lsl":
        return LslSource(rest, is_open=address not in LOCAL), options
    if rate is not None and not rate > 0.0:
        raise UsageError(f"--rate is {rate:g}; expected a number > 0, or inf")
    read = read_recording(Path(text), figure.up, options, align=False)
    for note in read.notes:
        remark(text, note)
    if options.axes is not None:  # it is turned already
        options = replace(options, axes="XYZ")
    return FileSource(read.markers, rate), options


def _open_sink(text: str, solver: LiveSolver, host: str | None) -> PoseSink:
    kind, _, rest = text.partition(":")
    if kind == "lsl":
        if host is None:
            raise UsageError("--send lsl opens a port to the whole network; --host allows that")
        name = rest or "exactik"
        return LslSink(solver.skeleton, name, solver.rate, is_open=host not in LOCAL)
    to, _, port = rest.rpartition(":")
    if kind != "udp" or port == "":
        raise UsageError(f"--send is {text!r}; expected udp:PORT, udp:HOST:PORT or lsl")
    return UdpSink(solver.skeleton, _parse_port("--send", text, port), to or LOOPBACK)


def _parse_port(what: str, text: str, port: str) -> int:
    if not port.isdecimal() or not 0 <= int(port) < 1 << 16:
        raise UsageError(f"{what} is {text!r}; expected {SOURCES}")
    return int(port)


def _run(session: LiveSession, seconds: float | None) -> None:
    """Run a session until it ends, or the user ends it; show angles in the terminal."""
    with ExitStack() as stack:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and threading.current_thread() is threading.main_thread():
                before = signal.signal(number, lambda *_: session.stop.set())
                stack.callback(signal.signal, number, before)
        if seconds is not None:
            timer = threading.Timer(seconds, session.stop.set)
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
        if err.is_terminal:
            screen = threading.Thread(target=_show, args=(session,), daemon=True)
            screen.start()
            stack.callback(screen.join, 2.0)
        session.run()


def _show(session: LiveSession) -> None:
    """Show angles in the terminal until the session ends."""
    with Live(console=err, auto_refresh=False) as screen:
        while not session.stop.wait(SHOW_SECONDS):
            pose, solver = session.latest, session.solver
            if pose is not None and solver is not None:
                motion = Motion(solver.skeleton, pose.q[None], solver.rate)
                screen.update(_make_table(motion, session.report.describe()), refresh=True)


def _open_page(
    session: LiveSession, solver: LiveSolver, up: str | None, page: PageOptions
) -> PoseSink:
    """Return the page that shows the figure."""
    from exactik.studio.viewer import LiveViewer

    q = solver.skeleton.neutral() if session.latest is None else session.latest.q
    up = find_motion_up(Motion(solver.skeleton, q[None], solver.rate, up_axis=up))
    viewer = LiveViewer(solver.skeleton, session.report.describe, up_axis=up, q=q, port=page.port)
    say(f"The page is at {viewer.url}")
    if page.browser:
        webbrowser.open(viewer.url)
    return viewer


def _make_table(motion: Motion, status: str) -> Group:
    """Return joint angles in degrees, left and right, below a line."""
    table = Table(box=None, padding=(0, 2), show_edge=False)
    for head in ("joint angle", "left", "right", ""):
        table.add_column(head, justify="left" if head == "joint angle" else "right")
    cells: dict[str, dict[str, str]] = {}
    if is_body(motion.skeleton):
        angles = compute_joint_angles(motion)
        for name, value in zip(angles.names, angles.values[0], strict=True):
            side = name[-2:] if name[-2:] in ("_l", "_r") else ""
            text = "–" if math.isnan(value) else f"{math.degrees(value):.0f}°"
            cells.setdefault(name.removesuffix(side).replace("_", " "), {})[side] = text
    for name, sides in cells.items():
        table.add_row(name, *(sides.get(side, "") for side in ("_l", "_r", "")))
    return Group(Text(status, style="dim"), table)
