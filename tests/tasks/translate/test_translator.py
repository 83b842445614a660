"""What a translator refuses to compute."""

import pytest

from regard.errors import DataError
from regard.formats import Pair
from regard.tasks.translate import translator as translators
from regard.tasks.translate.translator import Translator
from tests.training.loops import make_loop, write_corpus
from tests.training.test_loop import settings


def test_a_pair_that_would_fill_the_memory_is_named(tmp_path, monkeypatch: pytest.MonkeyPatch):
    corpus = write_corpus(tmp_path)
    translator = Translator(make_loop(corpus, settings()).loss_module.model, corpus[1])
    short, long = Pair("ba be", "be ba"), Pair("ba " * 40, "be", "x.tsv:2")
    length = len(corpus[1].source.encode([long.source])[0])
    monkeypatch.setattr(translators, "MAX_TEACHER_FORCED_TOKENS", length)
    with pytest.raises(DataError, match=f"x.tsv:2: has {length} tokens, and the loss takes at most {length};"):
        translator.teacher_force([short, long])
    with pytest.raises(DataError, match="pair 1: has"):
        translator.teacher_force([Pair("ba", "be " * 40)])
    monkeypatch.setattr(translators, "MAX_TEACHER_FORCED_TOKENS", length + 1)
    assert len(translator.teacher_force([short, long])) == 2
