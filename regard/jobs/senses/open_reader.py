"""A run of any kind as a reader of words in sentences."""

from pathlib import Path
from typing import Any

from regard.data.tokenizers.text_tokenizer import SentencePieceText
from regard.inspection.word_states import WordReader
from regard.jobs.run_kind import find_task
from regard.jobs.tasks.registry import open_predictor
from regard.run import open_run


def open_word_reader(folder: Path, device: str = "cpu") -> WordReader:
    """The stack of a run that reads: the encoder, or a decoder that stands alone."""
    config = open_run(folder).load_config()
    predictor: Any = open_predictor(folder, find_task(config), device)
    tokenizer = (
        SentencePieceText(predictor.tokenizers.source) if hasattr(predictor, "tokenizers") else predictor.tokenizer
    )
    return WordReader(predictor.model, tokenizer, config.data.max_length)
