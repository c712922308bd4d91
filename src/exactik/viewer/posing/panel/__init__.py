"""The panel of the posing page."""
