"""Searches, and the small language models that they are checked with."""
