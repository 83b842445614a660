"""Translation as a task."""
