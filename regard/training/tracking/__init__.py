"""Trackers: training curves in the files of other programs. They write into the run folder and nowhere else."""
