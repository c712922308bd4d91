"""The tables and figures of the papers, measured again and set beside what was published."""

from exactik.reproduce._experiment import (
    PAPERS,
    Cell,
    Experiment,
    Findings,
    Picture,
    Progress,
    Table,
    claims,
)
from exactik.reproduce._hdm05 import hdm05
from exactik.reproduce._recording import Chosen, Recording, Take, synthetic
from exactik.reproduce._registry import EXPERIMENTS, experiments_named
from exactik.reproduce._run import reproduce
from exactik.reproduce._write import Section, text_of

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
