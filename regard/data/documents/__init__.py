"""Documents: tokens that give the text back exactly."""
