"""A model for the engine of a page: its weights, settings and tokenizers in one file of bytes, and why some cannot."""

from regard.interchange.page.container import Aligner, pack_model

__all__ = ["Aligner", "pack_model"]
