"""Benchmarks: ratios measured in one run, with the versions that they were measured with."""
