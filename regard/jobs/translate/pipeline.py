"""How the lines of a run are translated, from its settings and its training text."""

from regard.data.tokenizers.tokenizer import Tokenizers
from regard.errors import ConfigError
from regard.jobs.text_statistics import load_statistics
from regard.jobs.translate.quality import QualityCheck
from regard.jobs.translate.sentence_splitting import choose_splitting
from regard.jobs.translate.text import LengthLimit, LinePipeline
from regard.run import Run

LONG_LINES = ("split", "refuse")


def build_pipeline(
    run: Run, tokenizers: Tokenizers, long: str = "split", split_sentences: str = "auto"
) -> LinePipeline:
    """The pipeline of a run. `long` is what is done with overlong lines, `split_sentences` whether lines are split."""
    config = run.load_config()
    limit = build_length_limit(config.data.max_length, long)
    statistics = load_statistics(run)
    splitting = choose_splitting(split_sentences, config, statistics)
    return LinePipeline(limit, splitting, QualityCheck(tokenizers.source, statistics, config.data.target))


def build_length_limit(max_tokens: int, long: str) -> LengthLimit:
    if long not in LONG_LINES:
        raise ConfigError(f"--long {long}: expected {' or '.join(LONG_LINES)}")
    return LengthLimit(max_tokens, refuse=long == "refuse")
