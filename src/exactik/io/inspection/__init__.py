"""What is in a file, and what is odd about it."""

from exactik.io.inspection._facts import (
    BoneFacts,
    DofFacts,
    Facts,
    MarkerFacts,
    SkeletonFacts,
    describe_skeleton,
    measure_space,
)
from exactik.io.inspection._figure import describe_human, list_human
from exactik.io.inspection._markers import (
    describe_analog,
    describe_markers,
    describe_time,
    inspect_markers,
)
from exactik.io.inspection._motions import READABLE, inspect_file
