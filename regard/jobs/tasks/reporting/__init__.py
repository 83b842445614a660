"""What reports and files of scores have in common, for all tasks that do not translate."""
