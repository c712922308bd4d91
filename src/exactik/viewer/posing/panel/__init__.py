"""The panel of the posing page."""

from exactik.viewer.posing.panel._panel import Panel

__all__ = ["Panel"]
