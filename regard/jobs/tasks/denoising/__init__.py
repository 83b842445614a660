"""Denoising as a task."""
