"""The tables and figures of the papers, measured again and set beside what was published."""

from exactik_papers.experiment import (
    PAPERS,
    Cell,
    Experiment,
    Findings,
    Picture,
    Progress,
    Table,
    claims,
)
from exactik_papers.hdm05 import hdm05
from exactik_papers.recording import Chosen, Recording, Take, synthetic
from exactik_papers.registry import EXPERIMENTS, experiments_named
from exactik_papers.run import reproduce
from exactik_papers.write import Section, text_of

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
