"""Synthetic data with known truth: a performance, its recording with faults, a reaching figure."""

from exactik.lab.synthetic._acts import ACTS
from exactik.lab.synthetic._coordinates import HEEL, TIP, compute_arm_angles
from exactik.lab.synthetic._performance import simulate_performance, solve_reach
from exactik.lab.synthetic._recording import SyntheticRecording, simulate_recording
from exactik.lab.synthetic._timeline import interpolate_quintic

__all__ = [
    "ACTS",
    "HEEL",
    "TIP",
    "SyntheticRecording",
    "compute_arm_angles",
    "interpolate_quintic",
    "simulate_performance",
    "simulate_recording",
    "solve_reach",
]
