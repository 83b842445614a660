"""Tagging as a task."""
