"""What the trials of a study show, and how certain it is."""
