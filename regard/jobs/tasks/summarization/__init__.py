"""Summarization as two tasks: `summarize` writes summaries, `extract` chooses sentences."""
