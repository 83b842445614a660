"""Causal language models: documents as windows, and the cross-entropy of every next token."""
