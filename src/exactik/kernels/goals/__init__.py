"""Local calculus of the goals: terms of a frame, marker clouds, coordinates."""
