"""Sizes of bones and places of markers, fitted to many frames at once."""
