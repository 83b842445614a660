"""Extractive summarization: which sentences of a document are its summary."""
