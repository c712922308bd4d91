"""Frame after frame of a recording."""
