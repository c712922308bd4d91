"""Options of `track`: its arguments, beside the figure and the recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from exactik._options import option
from exactik.problem import DofOptions, SpeedOptions
from exactik.recordings.tracking._options import TrackingOptions
from exactik.recordings.tracking._problem import POSTURE_WEIGHT, CoordinateReference
from exactik.solvers import Method

Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class PlainTrackOptions(SpeedOptions, DofOptions):
    """What can be asked of any recording, in words and numbers: `TrackOptions` has the rest."""

    robust: str | None = option(
        "auto",
        "How markers far from the figure count: auto (gross outliers are left out, swaps exchanged "
        "back), none (fully), huber (less) or tukey (not at all).",
        more='"auto" leaves a recording without any as None does, to the last bit.',
        why="Least squares is right for noise, and not for what is thrown far away "
        "(tests/recordings/tracking/test_track_bad_data.py).",
        metavar="WORD",
        words={"auto": "auto", "none": None, "huber": "huber", "tukey": "tukey"},
    )
    smooth: float | str | None = option(
        "auto",
        "Smooth the motion: auto (strength found from the recording), none, or a cut-off in Hz.",
        more='"auto" has a prior on the accelerations of the bones, whose strength is estimated '
        "from the recording: the most probable motion. A number is the frequency above which "
        "motion is suppressed; None leaves each frame by itself.",
        why="It needs to know nothing of the recording (tests/recordings/tracking/"
        "test_track_smooth.py).",
        unit="Hz",
        metavar="WORD",
        words={"auto": "auto", "none": None},
        number="a frequency in Hz",
    )
    sigma: float | None = option(
        None,
        "Noise of the markers; estimated if not given.",
        more="Their standard deviation along each axis, for error bars and robust losses.",
        why="The residuals tell it.",
        unit="m",
        metavar="MM",
    )
    branches: bool = option(
        True,
        "Look for other solutions too, and take the best continuous path through them.",
        why="A path that begins in the wrong pose stays in it (tests/recordings/tracking/"
        "test_branches.py).",
        flags="--branches/--no-branches",
    )
    strength: Mapping[str, float] | None = option(
        None, "Name or pattern → how readily dofs move, 1 for the others."
    )
    starts: int = option(
        24,
        "How many poses to try where no frame comes before.",
        why="With it 99 % of the frames of two takes are found from nothing "
        "(test_frames_from_nothing in tests/recordings/tracking/test_track_hdm05.py).",
    )
    posture: float = option(
        POSTURE_WEIGHT,
        "Weight of the neutral pose, in shares of a marker's at arm's length; 0 for none.",
        more="It settles what the markers leave open.",
        why="Small enough to do only that (docs/maths.md §15); error bars hold with it "
        "(tests/recordings/tracking/test_track_sd.py).",
    )
    threads: int | None = option(
        1,
        "Number of threads; one per processor if None.",
        more="The result does not depend on it.",
        why="The caller knows what else runs.",
    )


@dataclass(frozen=True, kw_only=True)
class TrackOptions(PlainTrackOptions):
    """How the motion of a recording is found."""

    solver: str | Method = option(
        "auto",
        "A compiled method; its tolerance is 1e-7 if only its name is given.",
        why="Its answer does not depend on rounding (`TrackingOptions.warm_start`), in the least "
        "time.",
    )
    weights: Mapping[str, float] | ArrayLike | None = option(
        None,
        "Name of a marker → its weight, 1 for the others; or all of them, (M,).",
        more="Only ratios count; a marker of weight 0 is measured, and nothing goes by it.",
        why="Nothing is known of the markers but their names.",
    )
    offsets: ArrayLike | None = option(
        None,
        "Places of the markers in their bones in each frame, (T, M, 3).",
        more="In place of the skeleton's.",
        unit="m",
    )
    references: Mapping[str, CoordinateReference] | None = option(
        None,
        "Dof → what it should be, one more goal beside the markers; not with `smooth`.",
    )
    device: str = option(
        "cpu",
        '"cpu"; "cuda" for a GPU of NVIDIA\'s, where the first pass through all frames runs.',
        more='"auto" takes the GPU if there is one and the recording is very long. See '
        "`track_many`.",
        why="The other stages run on the CPU, so that few recordings gain by a GPU (docs/gpu.md).",
    )
    options: TrackingOptions | None = option(
        None, "Thresholds of the stages; seldom worth a change."
    )
    progress: Progress | None = option(None, "Is called with the number of frames done and to do.")


@dataclass(frozen=True, kw_only=True)
class TrackManyOptions(TrackOptions):
    """How the motions of many recordings are found."""

    threads: int | None = option(
        None,
        "Number of threads, each with recordings of its own; one per processor if None.",
        why="There are enough recordings for all.",
    )
