"""Translate streams and files with a run."""
