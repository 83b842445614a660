"""Batches -> weights."""
