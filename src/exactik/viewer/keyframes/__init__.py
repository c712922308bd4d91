"""Key frames and the motion between them."""
