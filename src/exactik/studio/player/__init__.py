"""A figure in motion in any web page: shapes, a small WebGL player of our own, still pictures."""
