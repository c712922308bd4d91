"""Analog channels on the page: a channel, its unit, its curve; and markers that are never seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import exactik as ik
from exactik.model.motion import Analog, Markers
from exactik.studio.viewer import MotionViewer
from exactik.studio.viewer.recording import NEVER_KNOWN, AnalogPanel, draw_channel_curve
from exactik.studio.viewer.recording._curve import POSITION, SPEED
from tests.support.browser import wait_for

pytestmark = pytest.mark.viewer
pytest.importorskip("viser")

SECONDS, RATE, SAMPLE_RATE = 2.0, 50.0, 1000.0
COUNT = int(SECONDS * RATE)  # frames


@pytest.fixture(scope="module")
def markers() -> Markers:
    """Two seconds of two markers, one of which is never seen, and four channels."""
    times = np.arange(int(SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    values = np.stack(
        [
            800.0 * np.sin(np.pi * times),
            np.full(len(times), 5.0) + 1e-9 * times,
            np.zeros(len(times)),
            np.full(len(times), np.nan),
        ],
        axis=1,
    )
    values[1500, 0] = 2000.0  # of one sample
    analog = Analog(values, ("Fz1", "still", "zero", "none"), ("N", "V", "", "V"), SAMPLE_RATE)
    positions = np.zeros((COUNT, 2, 3))
    positions[:, 0, 0] = np.linspace(0.0, 1.0, len(positions))
    positions[:, 1] = np.nan
    return replace(ik.Markers(positions, ("A", "B"), RATE), analog=analog, up_axis="z")


@pytest.fixture(scope="module")
def viewer(markers: Markers) -> Iterator[MotionViewer]:
    with MotionViewer(markers) as running:
        yield running


def read_curve(html: str) -> list[tuple[float, float]]:
    """The corners of the first curve, in the square from 0 to 1, y downwards."""
    path = re.findall(r'<path d="M([^"]*)"', html)[0]
    width = float(re.findall(r'viewBox="0 0 (\d+) 100"', html)[0])
    corners = (corner.split(",") for corner in re.split("[ML]", path))
    return [(float(x) / width, float(y) / 100.0) for x, y in corners]


def read_ticks(html: str) -> list[float]:
    """Numbers left of the plot, from above."""
    return [float(text) for text in re.findall(r'top:\d+px">([^<]*)</span>', html)]


def test_a_channel_is_drawn_with_its_unit_its_rate_and_every_peak(markers: Markers):
    assert markers.analog is not None
    drawn = draw_channel_curve(markers.analog, "Fz1", COUNT, RATE)
    assert drawn is not None and "Fz1 [N]" in drawn and "1000 Hz" in drawn and "time [s]" in drawn
    ticks = read_ticks(drawn)
    assert ticks[0] == 2000.0 and -1000.0 <= ticks[-1] <= -800.0
    x, y = np.array(read_curve(drawn)).T
    assert x.min() < 0.01 and x.max() > 0.99
    peak = int(np.argmin(y))
    assert y[peak] == pytest.approx(0.0, abs=1e-3) and x[peak] == pytest.approx(0.75, abs=0.01)
    half = draw_channel_curve(markers.analog, "Fz1", 2 * COUNT, RATE)  # samples end before frames
    assert half is not None and np.array(read_curve(half))[:, 0].max() == pytest.approx(
        0.5, abs=0.01
    )


def test_what_stands_still_is_flat_and_zero_has_an_axis(markers: Markers):
    assert markers.analog is not None
    still = draw_channel_curve(markers.analog, "still", COUNT, RATE)
    zero = draw_channel_curve(markers.analog, "zero", COUNT, RATE)
    assert still is not None and zero is not None
    for drawn, most in ((still, 0.05), (zero, 1e-4)):
        ticks = read_ticks(drawn)
        assert 0.0 < ticks[0] - ticks[-1] <= most
        assert np.ptp(np.array(read_curve(drawn))[:, 1]) < 1e-3
    assert read_ticks(still)[0] - read_ticks(still)[-1] >= 1e-3
    assert "unit not stated" in zero
    assert draw_channel_curve(markers.analog, "none", COUNT, RATE) is None


def test_the_line_is_at_the_frame_and_nothing_is_said_in_words(viewer: MotionViewer):
    panel = viewer.panel.analog
    assert isinstance(panel, AnalogPanel)
    assert panel.plot.html.content == "" and panel.plot._line.content == ""
    panel.choose("Fz1")
    viewer.show(49)
    assert "exactik-analog" in panel.plot.html.content
    assert "left:49.500%" in panel.plot._line.content
    panel.choose("none")
    assert "no number" in panel.plot.html.content and panel.plot._line.content == ""
    panel.choose(None)
    assert panel.plot.html.content == ""


def test_a_channel_whose_file_has_gone_says_so(viewer: MotionViewer, markers: Markers):
    from exactik.errors import FileError
    from exactik.model.motion import LazySamples

    def fail() -> np.ndarray:
        raise FileError("capture.c3d", "has gone")

    gone = Analog(LazySamples(fail, 10), ("Fz1",), ("N",), SAMPLE_RATE)
    panel = AnalogPanel(viewer.server.gui, markers, gone)
    panel.choose("Fz1")
    assert "capture.c3d" in panel.plot.html.content


def test_a_marker_that_is_never_seen_has_a_sentence_and_no_line(viewer: MotionViewer):
    panel = viewer.panel.recording
    assert panel is not None
    panel.choose(1)
    assert wait_for(lambda: NEVER_KNOWN[POSITION] in panel.curve.plot.html.content)
    viewer.show(10)
    assert panel.curve.plot._line.content == ""
    panel.quantity.value = SPEED
    panel.choose(1)
    assert wait_for(lambda: NEVER_KNOWN[SPEED] in panel.curve.plot.html.content)
    panel.choose(0)
    assert wait_for(lambda: "exactik-marker" in panel.curve.plot.html.content)
    assert wait_for(lambda: panel.curve.plot._line.content != "")
