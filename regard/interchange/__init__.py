"""Model formats of other libraries, import and export.

A folder that another library wrote becomes a `TrainedTranslator`, `TrainedEncoder` or `TrainedLanguageModel`, with
settings, weights and tokenizers as of a model trained here; and a `TrainedTranslator` becomes a folder that the other
library reads. Marian, BERT and GPT-2 do not need the library that wrote them; CTranslate2's format is written by
CTranslate2 itself.
"""
