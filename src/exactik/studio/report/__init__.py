"""What came of a solved recording: in numbers, in words, and as a page to open."""

from exactik.studio.report._curves import make_angle_curves
from exactik.studio.report._headline import describe_error, describe_first_look, headline_of
from exactik.studio.report._page import render_report, write_report
from exactik.studio.report._playback import render_track_card
from exactik.studio.report._summary import collect_versions, summary_of
from exactik.studio.report.retargeting import render_retargeting_report, write_retargeting_report
