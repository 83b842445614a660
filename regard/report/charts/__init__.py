"""Charts: Tables become pictures."""
