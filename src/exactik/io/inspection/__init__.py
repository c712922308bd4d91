"""What is in a file, and what is odd about it."""
