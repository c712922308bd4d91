"""All frames of a recording together: markers, and accelerations that cost."""
