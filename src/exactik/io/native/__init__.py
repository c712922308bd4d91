"""Our own NPZ files."""
