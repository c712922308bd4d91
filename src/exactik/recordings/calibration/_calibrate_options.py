"""Options of `calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exactik._options import option
from exactik.problem import DofOptions
from exactik.recordings.calibration.fitting import Progress
from exactik.recordings.calibration.mapping import HandMapping, MarkerMapping


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions(DofOptions):
    """How a figure is fitted to a subject."""

    scale: bool | str = option(
        True,
        "Sizes to fit: symmetric (left as right), bone (each), global (one for all) or none.",
        more='True is "symmetric", as far as names tell left from right; False is none.',
        why="What one side does not show, the other may.",
        metavar="WORD",
        words={"symmetric": True, "bone": "bone", "global": "global", "none": False},
    )
    offsets: bool = option(
        True,
        "Fit where markers are on their bones.",
        why="Nobody puts them where a figure has them.",
        flags="--offsets/--no-offsets",
    )
    anatomical: Sequence[str] = option(
        (),
        "Markers that stay where they are on their bones; may be given repeatedly.",
        more="They only grow with them.",
        metavar="NAME",
    )
    bones: MarkerMapping | HandMapping | None = option(
        None,
        "What the recorded markers are, by hand, see `propose_mapping`.",
        more="Those not named are proposed.",
    )
    frames: int = option(
        200,
        "How many frames to use.",
        why="By hand: a few seconds in which every joint moves tell all, more take longer.",
        metavar="N",
        least=1,
    )
    offset_sd: float = option(
        0.03,
        "How far markers may be from where they should be, one standard deviation along each axis.",
        why="By hand: markers are placed within 1 to 2 cm, on bodies of another shape.",
        unit="m",
    )
    scale_sd: float = option(
        0.1,
        "How far bones may be from the size of the whole figure, as a share.",
        why="By hand.",
    )
    sigma: float | None = option(
        None,
        "Noise of the markers; estimated if not given.",
        more="Standard deviation of a recorded coordinate from a figure that is right, each frame "
        "by itself. None: as it turns out, regarding that errors of skin markers repeat.",
        why="The residuals tell it.",
        unit="m",
        metavar="MM",
    )
    robust: bool = option(
        True,
        "Count markers far from the figure as much as the others.",
        more="False says so; True: they count less.",
        why="A swapped marker would spoil a size.",
        flags="--trust-all",
    )
    threads: int | None = option(
        1,
        "Number of threads; one per processor if None.",
        more="The result does not depend on it.",
        why="The caller knows what else runs.",
    )
    progress: Progress | None = option(None, "Is called with what is done and to do.")
