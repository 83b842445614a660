"""Holding out whole groups: texts that share their words are never on both sides."""

from regard.data.group_split.documents import hold_out_documents
from regard.data.group_split.labeled import GroupSplit, hold_out_sentences, hold_out_texts
from regard.data.group_split.related import hold_out_related

__all__ = ["GroupSplit", "hold_out_documents", "hold_out_related", "hold_out_sentences", "hold_out_texts"]
