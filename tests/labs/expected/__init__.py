"""Verdicts that are expected of the labs, a module for each theme."""
