"""What commands print about runs of tasks that do not translate."""
