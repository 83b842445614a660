"""Summarization: documents in, summaries out."""
