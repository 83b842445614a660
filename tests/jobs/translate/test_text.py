"""Lines of any length, and files that go back to their owners."""

from pathlib import Path

import pytest

from regard.config import ModelConfig
from regard.config import build as build_config
from regard.data.sentences import SentenceRules, rules_for
from regard.data.text_statistics import TextStatistics
from regard.data.tokenizers.tokenizer import PAD, Tokenizers, train_tokenizer
from regard.decode import GreedySearch
from regard.errors import ConfigError, DataError
from regard.formats import open_document
from regard.jobs.translate.quality import QualityCheck
from regard.jobs.translate.sentence_splitting import SentenceSplitting, choose_splitting
from regard.jobs.translate.text import LengthLimit, LinePipeline, join_candidates, translate_document, translate_lines
from regard.model.build import build
from regard.tasks.translate.translator import Translation, Translator

TEXT = "the cat sees the dog. the dog sleeps! where is it? "


class Echo:
    """A translator that says everything in capitals, and remembers what it was asked."""

    def __init__(self) -> None:
        tokenizer = train_tokenizer([TEXT] * 9, 300, "bpe")
        self.tokenizers = Tokenizers(tokenizer, tokenizer)
        self.asked: list[str] = []

    def candidates(self, texts, search, first):
        self.asked += texts
        return [[Translation(text.upper(), -1.0)] for text in texts]


def lines(echo: Echo, texts: list[str], longest: LinePipeline) -> list[str]:
    return [found[0].text for found in translate_lines(echo, texts, GreedySearch(), longest, lambda n: f"x:{n}")]


def test_long_lines_are_cut_at_sentence_ends_and_put_together_again():
    echo, long = Echo(), (TEXT * 20).strip()
    assert lines(echo, ["a", long, "", "  ", "b"], LinePipeline(LengthLimit(37))) == ["A", long.upper(), "", "  ", "B"]
    assert len(echo.asked) > 10
    assert all(len(echo.tokenizers.source.encode([text])[0]) < 37 for text in echo.asked)
    assert all(text.endswith((".", "!", "?")) for text in echo.asked[1:-3])


def test_a_sentence_without_end_is_cut_between_words():
    echo, long = Echo(), "the cat sees " * 50 + "dogs"
    assert lines(echo, [long], LinePipeline(LengthLimit(31))) == [long.upper()]
    assert all(len(echo.tokenizers.source.encode([text])[0]) < 31 for text in echo.asked)
    assert lines(echo, ["x" * 500], LinePipeline(LengthLimit(31)))[0].replace(" ", "") == "X" * 500


def test_long_lines_can_be_refused_with_their_number():
    with pytest.raises(DataError, match=r"x:2: longer than 31 tokens; .*--long split"):
        lines(Echo(), ["short", TEXT * 9], LinePipeline(LengthLimit(31, refuse=True)))


def test_more_lines_than_a_chunk_keep_their_order():
    texts = [f"line {i}" if i % 7 else "" for i in range(1301)]
    assert lines(Echo(), texts, LinePipeline(LengthLimit(256))) == [text.upper() for text in texts]


def test_a_model_in_training_translates_without_dropout_and_goes_on_training():
    tokenizers, words = Echo().tokenizers, TEXT.split()
    config = ModelConfig(dim=32, layers=1, heads=2, ffn=64, dropout=0.5)
    model = build(config, tokenizers.source.vocab_size, tokenizers.target.vocab_size, joint=True, pad=PAD)
    translator = Translator(model.eval(), tokenizers)
    expected = translator.translate(words, GreedySearch())
    assert not model.training
    model.train()
    assert translator.translate(words, GreedySearch()) == expected
    assert all(part.training for part in model.modules())


SEGMENTED = """<xliff version="1.2"><file source-language="en"{codes}><body>
<trans-unit id="1"><source>One cat. Two dogs.</source>
<seg-source><mrk mtype="seg" mid="1">One cat.</mrk> <mrk mtype="seg" mid="2">Two dogs.</mrk></seg-source>
<target{state}><mrk mtype="seg" mid="1">{one}</mrk> {second}</target></trans-unit></body></file></xliff>"""


def test_a_unit_that_was_cut_is_translated_segment_by_segment(tmp_path: Path):
    before = SEGMENTED.format(codes="", state="", one="", second='<mrk mtype="seg" mid="2"/>')
    (tmp_path / "in.xlf").write_text(before, encoding="utf-8")
    document = open_document(tmp_path / "in.xlf", "en", "fr")
    assert [segment.location.rpartition(":")[2] for segment in document.segments] == ["3", "3"]
    filled = translate_document(Echo(), document, tmp_path / "out.xlf", GreedySearch(), LinePipeline(LengthLimit(256)))
    assert (filled.num_translated, filled.skipped_segments) == (2, ())
    marked, two = ' state="needs-review-translation"', '<mrk mtype="seg" mid="2">TWO DOGS.</mrk>'
    after = SEGMENTED.format(codes=' target-language="fr"', state=marked, one="ONE CAT.", second=two)
    assert (tmp_path / "out.xlf").read_text(encoding="utf-8") == after
    assert open_document(tmp_path / "out.xlf", "en", "fr").segments == []


def test_a_letter_that_the_file_cannot_hold_costs_its_entry_alone(tmp_path: Path):
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n{}'
    entries = 'msgid "a cœur"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n'.replace("œ", "oe")
    (tmp_path / "in.po").write_bytes(text.format(entries).encode("latin1"))

    class Ligature(Echo):
        def candidates(self, texts, search, first):
            return [[Translation(text.replace("oe", "œ"), -1.0)] for text in texts]

    filled = translate_document(
        Ligature(),
        open_document(tmp_path / "in.po"),
        tmp_path / "out.po",
        GreedySearch(),
        LinePipeline(LengthLimit(256)),
    )
    assert filled.num_translated == 1 and len(filled.skipped_segments) == 1
    assert "which ISO-8859-1 lacks" in filled.skipped_segments[0][1] and filled.skipped_segments[0][0].endswith(":4")
    assert b'#, fuzzy\nmsgid "b"\nmsgstr "b"' in (tmp_path / "out.po").read_bytes()


def test_a_segment_that_is_too_long_is_refused_with_its_own_line(tmp_path: Path):
    (tmp_path / "in.po").write_text(PO + '\nmsgid "' + TEXT.strip() * 9 + '"\nmsgstr ""\n', encoding="utf-8")
    line = len(PO.splitlines()) + 2
    with pytest.raises(DataError, match=rf"in.po:{line}: longer than 31 tokens"):
        translate_document(
            Echo(),
            open_document(tmp_path / "in.po"),
            tmp_path / "out.po",
            GreedySearch(),
            LinePipeline(LengthLimit(31, refuse=True)),
        )


PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: fr\\n"

# kept as it is
msgid "done"
msgstr "fait"

msgid "the cat"
msgstr ""

#, python-format
msgid "%(count)s cats"
msgstr ""

msgid ""
"first line\\n"
"second line\\n"
msgstr ""
"""


def test_a_po_file_comes_back_translated_for_review(tmp_path: Path):
    (tmp_path / "in.po").write_text(PO, encoding="utf-8")
    filled = translate_document(
        Echo(), open_document(tmp_path / "in.po"), tmp_path / "out.po", GreedySearch(), LinePipeline(LengthLimit(256))
    )
    out = (tmp_path / "out.po").read_text(encoding="utf-8")
    assert out.startswith(PO[: PO.index('msgid "the cat"')])
    assert '#, fuzzy\nmsgid "the cat"\nmsgstr "THE CAT"\n' in out
    assert "FIRST LINE\\n" in out and "SECOND LINE\\n" in out
    assert filled.num_translated == 2
    ((note, reason),) = filled.skipped_segments
    assert note == f"{tmp_path / 'in.po'}:13" or note.startswith(str(tmp_path / "in.po"))
    assert "%(count)s" in reason and "%(COUNT)S" not in out


def test_a_script_without_spaces_is_cut_too():
    echo, long = Echo(), "猫は犬を見る。" * 30
    out = lines(echo, [long], LinePipeline(LengthLimit(37)))[0]
    assert out.replace(" ", "") == long and len(echo.asked) > 5
    assert all(len(echo.tokenizers.source.encode([text])[0]) < 37 for text in echo.asked)


SENTENCES = LinePipeline(LengthLimit(256), SentenceSplitting(rules_for("en")))


def test_lines_are_translated_sentence_by_sentence_and_keep_their_blanks():
    echo, line = Echo(), "One cat.  Mr. Two sees it!\tThree? "
    assert lines(echo, [line, "", "one"], SENTENCES) == [line.upper(), "", "ONE"]
    assert echo.asked == ["One cat.", "Mr. Two sees it!", "Three?", "", "one"]


class Tidy(Echo):
    """A translator that changes nothing but blanks, as every model does."""

    def candidates(self, texts, search, first):
        self.asked += texts
        return [[Translation(" ".join(text.split()), -1.0)] for text in texts]


@pytest.mark.parametrize(("rules", "limit"), [(rules_for("en"), 256), (rules_for("en"), 13), (None, 13)])
def test_blanks_around_and_between_sentences_stay_as_they_are(rules: SentenceRules | None, limit: int):
    texts = ["  One cat.  Two cats. ", "\tThe cat is here!\u00a0\u3000The dog is there.\t", " \u00a0 ", "", "   x"]
    assert lines(Tidy(), texts, LinePipeline(LengthLimit(limit), SentenceSplitting(rules))) == texts


def test_blanks_that_the_model_is_not_given_are_no_unknown_characters():
    tidy = Tidy()
    statistics = TextStatistics(source_characters=frozenset("the cat. One"))
    pipeline = LinePipeline(
        LengthLimit(256), SentenceSplitting(rules_for("en")), QualityCheck(tidy.tokenizers.source, statistics)
    )
    texts = ["\tOne cat.\u3000One cat.\u00a0", "One\u00a0cat."]
    translations = [found[0] for found in translate_lines(tidy, texts, GreedySearch(), pipeline, str)]
    assert [one.text for one in translations] == [texts[0], "One cat."]
    assert [[issue.kind for issue in one.issues] for one in translations] == [[], ["characters"]]


def test_long_text_without_spaces_is_grouped_without_them():
    echo = Echo()
    lines(echo, ["猫は犬を見る。犬も見る。" * 30], LinePipeline(LengthLimit(97)))
    assert len(echo.asked) < 60 and not any(" " in text for text in echo.asked)


def test_combinations_of_candidates_are_ranked_and_distinct():
    first = [Translation("a", -1.0), Translation("b", -3.0), Translation("c", -0.5, truncated=True)]
    second = [Translation("x", -1.0), Translation("y", -1.5), Translation("z", -5.0)]
    joined = join_candidates([first, second], [" "])
    assert [one.text for one in joined] == ["a x", "a y", "b x"]
    assert [one.score for one in joined] == [-1.0, -1.25, -2.0]
    assert [one.text for one in join_candidates([[Translation("你好。", 0.0)], second[:1]], [" "])] == ["你好。x"]
    assert [one.text for one in join_candidates([second[:1], second[:1]], [""])] == ["x x"]


def test_a_run_that_knows_several_sentences_translates_lines_whole():
    config = build_config({"data": {"source": "en"}})
    assert choose_splitting("auto", config, TextStatistics()).rules is not None
    whole = choose_splitting("auto", config, TextStatistics(multi_sentence_share=0.5))
    assert whole.rules is None and whole.reason == "50% of the training lines hold several sentences"
    assert choose_splitting("always", config, TextStatistics(multi_sentence_share=0.5)).rules is not None
    assert choose_splitting("never", config, TextStatistics()).reason == ""
    concatenated = build_config({"data": {"source": "en", "concat_augment": 1.0}})
    assert choose_splitting("auto", concatenated, TextStatistics()).rules is None
    with pytest.raises(ConfigError, match=r"--split-sentences x: expected auto, always or never"):
        choose_splitting("x", config, TextStatistics())


class Forgetful(Echo):
    """A translator that loses numbers."""

    def candidates(self, texts, search, first):
        return [[Translation(text.replace("3", "").upper(), -1.0)] for text in texts]


def test_what_was_lost_is_noted_in_po(tmp_path: Path):
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#: a.c\nmsgid "3 cats"\nmsgstr ""\n'
    (tmp_path / "in.po").write_text(text, encoding="utf-8")
    echo = Forgetful()
    pipeline = LinePipeline(LengthLimit(256), quality=QualityCheck(echo.tokenizers.source, TextStatistics()))
    result = translate_document(echo, open_document(tmp_path / "in.po"), tmp_path / "out.po", GreedySearch(), pipeline)
    assert ("numbers", "it lacks 3") in [(issue.kind, issue.message) for _, issue in result.issues]
    out = (tmp_path / "out.po").read_text(encoding="utf-8")
    assert "\n# regard: it lacks 3" in out and out.index("# regard") < out.index("#: a.c") < out.index("#, fuzzy")


V12 = """<xliff version="1.2"><file source-language="en" target-language="fr"><body>
<trans-unit id="1"><source>3 cats</source></trans-unit></body></file></xliff>"""
V20 = """<xliff version="2.0" srcLang="en" trgLang="fr"><file><unit id="1"><segment><source>3 cats</source></segment>
<segment><source>cats</source></segment></unit></file></xliff>"""


@pytest.mark.parametrize(
    ("before", "note"),
    [
        (V12, '</target><note from="regard">it lacks 3'),
        (V20, '<unit id="1"><notes><note category="regard">it lacks 3'),
    ],
)
def test_what_was_lost_is_noted_in_xliff(tmp_path: Path, before: str, note: str):
    (tmp_path / "in.xlf").write_text(before, encoding="utf-8")
    echo = Forgetful()
    pipeline = LinePipeline(LengthLimit(256), quality=QualityCheck(echo.tokenizers.source, TextStatistics()))
    document = open_document(tmp_path / "in.xlf", "en", "fr")
    translate_document(echo, document, tmp_path / "out.xlf", GreedySearch(), pipeline)
    out = (tmp_path / "out.xlf").read_text(encoding="utf-8")
    assert note in out and out.count("</note>") == 1
    assert open_document(tmp_path / "out.xlf", "en", "fr").segments == []
