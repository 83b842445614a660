"""Look into a run: attention, heads, positions, senses."""
