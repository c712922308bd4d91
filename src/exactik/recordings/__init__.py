"""From markers to motion: labels, calibration, tracking, diagnosis, joint angles."""
