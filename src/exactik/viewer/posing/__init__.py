"""Posing by hand."""
