"""Engell-Nørregård & Erleben 2011: the projected back-tracking line search."""
