"""Colours of curves are seen on light and on dark pages, and differ from each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from exactik.model.visuals import srgb_to_linear
from exactik.solvers import list_solvers
from exactik.studio.plots.colours import format_hex
from exactik.studio.viewer.page.colours import (
    DRAGGED_COLOUR,
    MARKER_COLOUR,
    NAMED_COLOUR,
    PINNED_COLOUR,
    RESIDUAL_COLOUR,
    SUSPECT_COLOUR,
    UNNAMED_COLOUR,
)
from exactik.studio.viewer.posing.panel import SOLVER_COLOURS
from exactik.studio.viewer.recording import CHANNEL_COLOUR, COORDINATE_COLOURS, SPEED_COLOUR
from exactik.typing import Array

PANELS = ((255, 255, 255), (36, 36, 36))  # Mantine's grounds, light and dark
PLOT_GREY, PLOT_SHARE = 128, 0.12  # that the ground of a plot over time has of it
MIN_CONTRAST = 3.0  # of graphics, by WCAG 2.1, 1.4.11
OVER_TIME = [
    *COORDINATE_COLOURS.values(),
    SPEED_COLOUR,
    CHANNEL_COLOUR,
    *map(format_hex, (RESIDUAL_COLOUR, MARKER_COLOUR)),
    *map(format_hex, (NAMED_COLOUR, UNNAMED_COLOUR, SUSPECT_COLOUR)),
]
ON_PANELS = [*SOLVER_COLOURS, *map(format_hex, (PINNED_COLOUR, DRAGGED_COLOUR))]


def read_hex(colour: str) -> Array:
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)


def measure_contrast(one: Array, other: Array) -> float:
    """The ratio of luminances as WCAG has it, from 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    lights = [float(weights @ srgb_to_linear(rgb / 255.0)) + 0.05 for rgb in (one, other)]
    return max(lights) / min(lights)


@pytest.mark.parametrize("ground", PANELS)
def test_curves_are_seen_on_light_and_dark_pages(ground: tuple[int, int, int]):
    panel = np.array(ground, dtype=float)
    plot = (1.0 - PLOT_SHARE) * panel + PLOT_SHARE * PLOT_GREY
    for behind, colours in ((panel, ON_PANELS), (plot, OVER_TIME)):
        for colour in colours:
            assert measure_contrast(read_hex(colour), behind) >= MIN_CONTRAST, colour


def test_every_solver_has_a_colour_of_its_own():
    assert len(SOLVER_COLOURS) >= len(list_solvers())
    for one, other in combinations(SOLVER_COLOURS, 2):
        assert np.linalg.norm(read_hex(one) - read_hex(other)) >= 60.0, (one, other)
