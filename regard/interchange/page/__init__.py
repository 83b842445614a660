"""A model for the engine of a page: its weights, settings and tokenizers in one file of bytes, and why some cannot."""

from regard.interchange.page.container import pack_model

__all__ = ["pack_model"]
