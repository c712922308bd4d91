"""`exactik solve`, `exactik calibrate`, `exactik match` and `exactik archive`."""
