"""Plots as SVG and HTML, for reports and for the viewer, seen on light pages and on dark ones."""
