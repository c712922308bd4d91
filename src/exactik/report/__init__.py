"""What came of a solved recording: in numbers, in words, and as a page to open."""

from exactik.report._report import write_report
from exactik.report._summary import headline_of, summary_of

__all__ = ["headline_of", "summary_of", "write_report"]
