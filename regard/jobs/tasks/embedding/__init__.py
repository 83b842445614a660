"""Embedding as a task."""
