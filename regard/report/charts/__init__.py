"""Charts of tables."""
