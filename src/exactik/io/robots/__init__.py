"""Robots: URDF and MJCF."""
