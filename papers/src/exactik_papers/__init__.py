"""The tables and figures of the papers, measured again and set beside what was published."""

from exactik_papers._experiment import (
    PAPERS,
    Cell,
    Experiment,
    Findings,
    Picture,
    Progress,
    Table,
    claims,
)
from exactik_papers._hdm05 import hdm05
from exactik_papers._recording import Chosen, Recording, Take, synthetic
from exactik_papers._registry import EXPERIMENTS, experiments_named
from exactik_papers._run import reproduce
from exactik_papers._write import Section, text_of

__all__ = [
    "EXPERIMENTS",
    "PAPERS",
    "Cell",
    "Chosen",
    "Experiment",
    "Findings",
    "Picture",
    "Progress",
    "Recording",
    "Section",
    "Table",
    "Take",
    "claims",
    "experiments_named",
    "hdm05",
    "reproduce",
    "synthetic",
    "text_of",
]
