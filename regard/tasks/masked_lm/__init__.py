"""Masked language models: tokens are hidden, and predicted from what is before and after them."""
