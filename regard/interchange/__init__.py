"""Model formats of other libraries, import and export.

A folder that another library wrote becomes a `TrainedTranslator` or `TrainedEncoder`, with settings, weights and
tokenizers as of a model trained here; and a `TrainedTranslator` becomes a folder that the other library reads. Marian
and BERT need no other library installed; CTranslate2's format is written by CTranslate2 itself.
"""
