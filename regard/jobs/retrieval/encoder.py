"""A run folder -> what embeds the documents and queries of an index."""

from collections.abc import Sequence
from pathlib import Path

from regard.atomic import sha256
from regard.files import resolve
from regard.hardware import configure_cpu
from regard.jobs.load import load_encoder
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.dense.passages import Span, split_passages
from regard.retrieval.dense.vectors import Vectors
from regard.retrieval.index_folder import EncoderIdentity
from regard.run import open_run

MAX_TOKENS_PER_CHAR = 4  # of a character that the vocabulary lacks: the bytes of its UTF-8


def open_encoder(folder: Path, device: str = "auto") -> Encoder:
    """The encoder of a run, trained here or imported."""
    configure_cpu(0)
    embedder = load_encoder(folder, device)
    tokenizer = embedder.tokenizer
    window = embedder.max_length - len(tokenizer.spans("", embedder.max_length))  # without special tokens

    def embed(texts: Sequence[str]) -> Vectors:
        return embedder.embed(texts).numpy()

    def split(text: str) -> list[Span]:
        limit = MAX_TOKENS_PER_CHAR * len(text) + embedder.max_length
        return split_passages(text, tokenizer.spans(text, limit), window)

    return Encoder(identify_encoder(folder), embed, split)


def identify_encoder(folder: Path) -> EncoderIdentity:
    """The identity of a run's best weights."""
    run = open_run(folder)
    path = resolve(folder)
    return EncoderIdentity(path.name, str(path), sha256(run.best_weights()))
