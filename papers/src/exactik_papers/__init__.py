"""The tables and figures of the papers, measured again and set beside what was published."""

from exactik_papers.experiment import (
    PAPERS,
    Cell,
    Experiment,
    Findings,
    Picture,
    Progress,
    ResultTable,
    make_claims_table,
)
from exactik_papers.hdm05 import load_hdm05
from exactik_papers.recording import MotionFrames, Recording, Take, make_synthetic_recording
from exactik_papers.registry import EXPERIMENTS, find_experiments
from exactik_papers.run import reproduce
from exactik_papers.write import Section, format_cell

__all__ = [
    "EXPERIMENTS",
    "PAPERS",
    "Cell",
    "Experiment",
    "Findings",
    "MotionFrames",
    "Picture",
    "Progress",
    "Recording",
    "ResultTable",
    "Section",
    "Take",
    "find_experiments",
    "format_cell",
    "load_hdm05",
    "make_claims_table",
    "make_synthetic_recording",
    "reproduce",
]
