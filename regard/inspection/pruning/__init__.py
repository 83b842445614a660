"""Which heads to remove, and in which order."""
