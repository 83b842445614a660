"""Studies and comparisons as offline pages."""
