"""What the demonstrations are made of: a figure that reaches, and a person who performs."""

from exactik.synthetic._judged import Judged, judged
from exactik.synthetic._performance import performance
from exactik.synthetic._reach import reach, reach_goals
from exactik.synthetic._recorded import Recorded, recorded

__all__ = ["Judged", "Recorded", "judged", "performance", "reach", "reach_goals", "recorded"]
