"""Proof on demand: random problems against the oracle, and any problem against differences."""

from exactik.lab.check._campaign import CampaignReport, CampaignRow, run_campaign
from exactik.lab.check._derivatives import DerivativeReport, DerivativeRow, check_derivatives
from exactik.lab.check._random import random_coordinates, random_skeleton
from exactik.lab.check._random_goals import Distance, Lever, random_goals, random_problem
from exactik.lab.check._random_pairs import random_pair_goals

__all__ = [
    "CampaignReport",
    "CampaignRow",
    "DerivativeReport",
    "DerivativeRow",
    "Distance",
    "Lever",
    "check_derivatives",
    "random_coordinates",
    "random_goals",
    "random_pair_goals",
    "random_problem",
    "random_skeleton",
    "run_campaign",
]
