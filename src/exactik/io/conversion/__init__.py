"""One file to another, and what that loses."""
