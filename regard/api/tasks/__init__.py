"""What the models of each task do, and what opens them."""
