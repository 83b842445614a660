"""Embedding: texts as vectors whose cosine says how similar they are, learned from texts that belong together."""
