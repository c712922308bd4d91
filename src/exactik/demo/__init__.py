"""What the demonstrations are made of: a figure that reaches, and a person who performs."""

from exactik.demo._judged import Judged, judged
from exactik.demo._performance import performance
from exactik.demo._reach import reach, reach_goals
from exactik.demo._recorded import Recorded, recorded

__all__ = ["Judged", "Recorded", "judged", "performance", "reach", "reach_goals", "recorded"]
