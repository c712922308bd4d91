"""`exactik solve` and `exactik calibrate`."""
