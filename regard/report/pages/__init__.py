"""Pages of their own kind: of a training as it goes on, and of a translator."""
