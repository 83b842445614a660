"""Classification as a task."""
