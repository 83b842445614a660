"""A process for each function of a student, with limits, and one that forks them."""
