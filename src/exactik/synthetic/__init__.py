"""Synthetic data with known truth: a performance, its recording with faults, a reaching figure."""

from exactik.synthetic._comparison import TruthComparison, compare_with_truth
from exactik.synthetic._performance import simulate_performance
from exactik.synthetic._reach import make_reach_goals, solve_reach
from exactik.synthetic._recording import SyntheticRecording, simulate_recording

__all__ = [
    "SyntheticRecording",
    "TruthComparison",
    "compare_with_truth",
    "make_reach_goals",
    "simulate_performance",
    "simulate_recording",
    "solve_reach",
]
