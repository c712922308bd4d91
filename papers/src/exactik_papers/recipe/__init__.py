"""Ubisoft 2017: a recipe for Jacobians."""
