"""Every finding is seen where it was planted, and nowhere else; and nothing shifts."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.doctor import FINDING_KINDS, Action, Diagnosis, Doctor, DoctorSettings, PairStream, overlap
from regard.data.doctor.doctor import _DatasetCheck, _Direction
from regard.data.doctor.examination import FindingTally, select_line_files
from regard.data.doctor.profile import CorpusProfile
from regard.display.views.doctor import format_diagnosis
from regard.errors import ConfigError, DataError, FormatError
from regard.formats import Pair, read_pairs

CLEAN = [
    ("The dog is sleeping in the garden.", "Le chien dort dans le jardin."),
    ("I have seen this film with my brother.", "J'ai vu ce film avec mon frère."),
    ("She said that they would come back.", "Elle a dit qu'ils reviendraient."),
    ("Go!", "Va !"),
    ("What are you going to do about it?", "Qu'est-ce que vous allez faire à ce sujet ?"),
    ("We were at the house of a friend.", "Nous étions dans la maison d'un ami."),
    ("It is 3 < 4, said the teacher.", "C'est 3 < 4, dit le professeur."),
    ("He paid 100% of {price} to %s.", "Il a payé 100 % de {price} à %s."),
    ("<b>Save</b> your work now.", "<b>Enregistrez</b> votre travail."),
    ("<b>Save</b>", "<b>Enregistrer</b>"),
    ("<Link>Read more</Link>", "<Link>En savoir plus</Link>"),
    ("<ada at example dot org>", "<ada chez example point org>"),
    ("R&D is fun & games.", "La R&D est un jeu."),
    ("<tree-ish>", "<arbre-esque>"),
    ("<repository> <refspec>", "<dépôt> <spéc-de-réf>"),
    ("<url>", "<adresse>"),
    ("%s has %d files.", "%2$d fichiers pour %1$s."),
]
PLANTED = {
    "blank": [("There is something here.", " \u00a0"), ("", "Rien.")],
    "metadata": [
        ("<url>http://a.org/x</url>", "<url>http://a.org/x</url>"),
        ("<speaker>Ada Lovelace</speaker>", "<title>Une femme</title>"),
        ("<reviewer></reviewer>", '<translator href="http://a.org">Jean</translator>'),
        ('<doc id="7" lang="en">', '<doc id="7" lang="fr">'),
        ("</doc>", "</doc>"),
        ("<p>", "<br>"),
        ("<foo>17</foo>", "<foo>17</foo>"),
        ("<foo>one thing</foo>", "<bar>autre chose</bar>"),
        ("A sentence.", "<description>Une description qui ne va pas.</description>"),
    ],
    "wordless": [("Young girls weave corn stalks.", "@@"), ("…", "Il est parti.")],
    "identical": [("This was never translated at all.", "This was never translated at all. ")],
    "ratio": [("You can read it.", "Il est écrit ici " + "que tout le monde doit venir boire le thé " * 4)],
    "long": [("It is so long. " * 400, "C'est si long. " * 400)],
    "language": [
        ("Le chien est dans la maison avec les enfants.", "Il est dans la maison avec les enfants du voisin."),
        ("He is in the house with the children.", "The man was in the house with all of his children."),
        ("He said it once.", "Он сказал это один раз"),
    ],
    "same": [
        ("OK.", "OK."),
        ("1984", "1984"),
        ("Barack Obama", "Barack Obama"),
        ("f(a, b) = a + b", "f(a, b) = a + b"),
    ],
    "separator": [("A line\u2028and more", "Une ligne"), ("Next", "La\x85suite"), ("Two\rparts", "Deux\x0bparts\x0c")],
    "control": [("Bell\x07 rings", "La cloche sonne"), ("Delete", "Effacer\x7f")],
    "bom": [("\ufeffJoined files", "Fichiers joints")],
    "mojibake": [("A summer day", "Un jour d'Ã©tÃ©"), ("It\u2019s lost", "C'est per�u"), ("Itâ€™s", "C'est")],
    "unnormalized": [("Summer", "E\u0301te\u0301")],
    "tokenized": [("a cat sleeps .", "un chat dort ."), ("The dog barks .", "Le chien aboie.")],
    "entity": [("Salt &amp; pepper", "Sel et poivre"), ("A cat", "L&#39;animal")],
    "placeholder": [
        ("Hello {name}", "Bonjour {nom}"),
        ("%1$s of %2$s", "%1$s de"),
        ("{{ count }} files", "{{ total }} fichiers"),
        ("%(user)s left", "%s est parti"),
    ],
}


def stream(texts: Sequence[tuple[str, str]], name: str = "train") -> PairStream:
    pairs = [Pair(source, target, f"{name}:{line}") for line, (source, target) in enumerate(texts, start=1)]
    return PairStream(lambda: pairs)


def seen(diagnosis: Diagnosis, where: str = "train") -> dict[str, int]:
    return {finding.kind.name: finding.count for finding in diagnosis.findings if finding.split == where}


def english_french(**more: object) -> Doctor:
    return Doctor(DoctorSettings(source="en", target="fr", **more))  # type: ignore[arg-type]


def test_clean_text_has_no_finding():
    diagnosis = Doctor().examine(stream(CLEAN))
    assert seen(diagnosis) == {} and diagnosis.pairs_kept == diagnosis.pairs_read == len(CLEAN)
    assert seen(english_french().examine(stream(CLEAN * 50))).keys() == {"duplicate"}


@pytest.mark.parametrize("name", PLANTED)
def test_each_finding_is_seen_at_its_line(name: str):
    texts = [*CLEAN[:5], *PLANTED[name], *CLEAN[5:]]
    diagnosis = english_french().examine(stream(texts))
    lines = [f"train:{6 + n}" for n in range(len(PLANTED[name]))]
    assert seen(diagnosis) == {name: len(lines)}
    (finding,) = diagnosis.findings
    assert [example.note for example in finding.examples] == lines[:5]
    dropped = len(lines) if FINDING_KINDS[name].action is Action.DROPPED else 0
    assert diagnosis.pairs_kept == len(texts) - dropped
    kept = list(diagnosis.clean(stream(texts).read()))
    assert [(pair.source, pair.target) for pair in kept] == (CLEAN if dropped else texts)


def test_every_pair_of_the_table_is_planted_somewhere():
    elsewhere = {"swapped", "mislabeled", "no_newline", "shared", "overlap", "duplicate", "variant"} | {
        "near_overlap",
        "near_duplicate",
    }
    assert FINDING_KINDS.keys() == PLANTED.keys() | elsewhere


@pytest.mark.parametrize(
    "line",
    ["<a " + "=" * 200_000, "<a> " * 50_000 + "<", "<a>" + "</a" * 50_000, "{{" * 50_000, "%1" * 50_000, "&a" * 99_999],
)
def test_endless_lines_are_done_in_no_time(line: str):
    diagnosis = Doctor().examine(stream([(line, line + "x")]))  # any pattern that tries twice would never end
    assert seen(diagnosis) in ({"long": 1}, {"wordless": 1})


def test_a_kind_that_is_kept_is_counted_and_stays():
    texts = [*CLEAN, *PLANTED["metadata"]]
    diagnosis = english_french(keep=frozenset({"metadata"})).examine(stream(texts))
    assert seen(diagnosis)["metadata"] == len(PLANTED["metadata"]) and diagnosis.pairs_kept == len(texts)


def test_training_pairs_that_the_test_holds_are_dropped_from_training():
    dev, test = [CLEAN[1], ("Unseen.", "Inconnu.")], [CLEAN[0], CLEAN[0], (" Go! ", "Allez !")]
    diagnosis = Doctor().examine(stream(CLEAN), stream(dev, "dev"), stream(test, "test"))
    assert seen(diagnosis) == {"overlap": 3}
    assert [example.note for example in diagnosis.findings[0].examples] == ["train:1", "train:2", "train:4"]
    assert seen(diagnosis, "dev") == {"overlap": 1}
    assert seen(diagnosis, "test") == {"overlap": 3, "duplicate": 1}
    assert len(list(diagnosis.clean(stream(test).read(), "test"))) == 3
    sources = {pair.source.strip() for pair in diagnosis.clean(stream(CLEAN).read())}
    assert not sources & {source.strip() for source, _ in dev + test}
    assert diagnosis.describe_overlap() == (
        "Train shares 1 of 2 dev sources and 3 of 3 test sources (compared without case and blanks): the 3 training "
        "pairs with them are dropped, so that none of these sources is trained on."
    )


TWINS = ["  go! ", "GO!", "Ｇｏ!", "g\u00ado!", "\ufeffGo!", "Go\u200b!"]


@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_of_a_held_out_source_is_the_same_source(twin: str):
    diagnosis = Doctor().examine(stream([*CLEAN, (twin, "Vas-y, donc !")]), test=stream([("Go!", "Va !")], "test"))
    assert seen(diagnosis)["overlap"] == 2 and seen(diagnosis, "test") == {"overlap": 1}
    assert "Train shares 1 of 1 test sources" in str(diagnosis)


def test_a_pair_that_is_dropped_for_another_reason_overlaps_with_nothing():
    odd = ("You can read it.", "Il est écrit ici " + "que tout le monde doit venir boire le thé " * 4)
    half = ("We were at the house of a friend.", " ")  # not in test: it has no translation
    diagnosis = Doctor().examine(stream([*CLEAN, odd]), test=stream([(odd[0], "Lis-le."), half], "test"))
    assert seen(diagnosis) == {"ratio": 1} and seen(diagnosis, "test") == {"blank": 1}
    assert diagnosis.describe_overlap() == "No source of test occurs in train (compared without case and blanks)."
    kept = Doctor(DoctorSettings(keep=frozenset({"overlap"}), drop=frozenset({"same"})))
    diagnosis = kept.examine(stream([*CLEAN, ("OK", "OK")]), test=stream([("ok", "d'accord"), CLEAN[0]], "test"))
    assert seen(diagnosis) == {"overlap": 1, "same": 1} and seen(diagnosis, "test") == {"overlap": 1}
    assert "the training pair with them is kept, so that their scores measure memorization" in str(diagnosis)


def test_near_duplicates_are_counted_apart_from_the_same_source():
    train = [
        *CLEAN,
        ("The dogs lay in all the gardens.", "Les chiens dorment."),
        ("the  dog IS sleeping.", "Dort."),
    ]
    test = [("The dog is sleeping in the gardens.", "Un chien dort."), ("The dog is sleeping.", "Le chien dort.")]
    diagnosis = Doctor().examine(stream(train), test=stream(test, "test"))
    assert seen(diagnosis) == {"overlap": 1, "near_overlap": 1}
    assert seen(diagnosis, "test") == {"overlap": 1, "near_overlap": 1}
    near = {f.split: f.examples[0] for f in diagnosis.findings if f.kind.name == "near_overlap"}
    assert (near["train"].note, near["train"].detail) == ("train:1", "test has “the dog is sleeping in the gardens.”")
    assert near["test"].detail == "train has “The dog is sleeping in the garden.” (train:1)"
    assert "Nearly the same as a source of train: 1 of 2 test sources." in str(diagnosis)
    dropped = Doctor(DoctorSettings(drop=frozenset({"near_overlap"}))).examine(stream(train), test=stream(test, "test"))
    assert [p.source for p in dropped.clean(stream(train).read())] == [s for s, _ in train[1:-1]]


def test_a_test_set_that_dev_holds_too_is_told():
    dev, test = [("One.", "Un."), ("Two.", "Deux.")], [("Two.", "Deux."), ("Three.", "Trois.")]
    diagnosis = Doctor().examine(stream(CLEAN), stream(dev, "dev"), stream(test, "test"))
    assert (seen(diagnosis, "dev"), seen(diagnosis, "test")) == ({}, {"shared": 1})


def test_blank_pairs_that_are_kept_stay():
    texts = [*CLEAN, *PLANTED["blank"]]
    diagnosis = english_french(keep=frozenset({"blank"})).examine(stream(texts))
    assert diagnosis.pairs_kept == len(texts) and seen(diagnosis)["blank"] == len(PLANTED["blank"])


def test_where_nothing_is_left_the_reasons_are_told():
    diagnosis = Doctor().examine(stream(CLEAN), test=stream(CLEAN, "test"))
    with pytest.raises(DataError, match=r"no pairs remain to train on:\ntrain: overlap: \d+ pairs, 100.0%"):
        diagnosis.require_trainable()


def test_dev_and_test_lose_blank_pairs_and_nothing_else():
    test = [*CLEAN, *PLANTED["blank"], *PLANTED["metadata"]]
    diagnosis = Doctor().examine(stream([("Only this.", "Ceci seulement.")]), test=stream(test, "test"))
    assert len(list(diagnosis.clean(stream(test).read(), "test"))) == len(test) - len(PLANTED["blank"])
    actions = {finding.kind.name: finding.action for finding in diagnosis.findings}
    assert actions == {"blank": Action.DROPPED, "metadata": Action.NOTED, "same": Action.NOTED}


def test_duplicates_are_counted_and_dropped_only_on_demand():
    texts = [*CLEAN[:4], CLEAN[1], ("Go!", "Vas-y !"), CLEAN[0], CLEAN[1], ("Go!", "Vas-y !")]
    diagnosis = Doctor().examine(stream(texts))
    assert seen(diagnosis) == {"duplicate": 4, "variant": 1} and diagnosis.pairs_kept == 9
    notes = {f.kind.name: [example.note for example in f.examples] for f in diagnosis.findings}
    assert notes == {"duplicate": ["train:5", "train:7", "train:8", "train:9"], "variant": ["train:6"]}
    once = Doctor(DoctorSettings(drop=frozenset({"duplicate"}))).examine(stream(texts))
    assert [pair.location for pair in once.clean(stream(texts).read())] == [f"train:{n}" for n in (1, 2, 3, 4, 6)]


def test_where_copying_is_the_task_copies_stay():
    texts = [(f"copy all of this text {n}", f"copy all of this text {n}") for n in range(40)]
    diagnosis = Doctor().examine(stream(texts))
    assert seen(diagnosis) == {"identical": 40, "near_duplicate": 39} and diagnosis.pairs_kept == 40


def test_lengths_are_compared_with_what_is_usual():
    usual = [(f"A long abstract number {n} of a paper. " * 12, f"Its one line is {n}.") for n in range(60)]
    near = {"near_duplicate": 59}
    assert seen(Doctor().examine(stream(usual))) == near
    odd = ("One line.", "And its abstract is far longer than that. " * 9)
    diagnosis = Doctor().examine(stream([*usual[:30], odd, *usual[30:]]))
    assert seen(diagnosis) == {"ratio": 1} | near and diagnosis.findings[0].examples[0].note == "train:31"
    assert seen(Doctor(DoctorSettings(ratio=1000)).examine(stream([*usual, odd]))) == near


def test_files_without_a_last_line_feed_are_named(tmp_path: Path):
    source, target = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_text("\n".join(s for s, _ in CLEAN), encoding="utf-8")
    target.write_text("\n".join(t for _, t in CLEAN) + "\n", encoding="utf-8")
    diagnosis = Doctor().examine(PairStream.from_files([source, target]))
    (finding,) = diagnosis.findings
    assert (finding.kind.name, finding.count, finding.total) == ("no_newline", 1, 2)
    assert finding.examples[0].note == str(source)
    assert diagnosis.pairs_read == len(CLEAN)


def test_only_files_of_lines_need_a_line_feed(tmp_path: Path):
    paths = [tmp_path / name for name in ("a.en", "a.fr", "a.tsv", "a.po", "a.tsv.gz")]
    for path in paths:
        path.touch()
    assert select_line_files([*paths, tmp_path]) == paths[:3]


@pytest.mark.parametrize("raw", [b"one\n", b"one\ntwo\nthree\n", b"one\n\xff\n"])
def test_what_would_shift_pairs_is_refused_by_the_formats(tmp_path: Path, raw: bytes):
    (tmp_path / "a.en").write_bytes(raw)
    (tmp_path / "a.fr").write_text("un\ndeux\n")
    files = [tmp_path / "a.en", tmp_path / "a.fr"]
    with pytest.raises(FormatError) as expected:
        list(read_pairs(files))
    with pytest.raises(FormatError) as found:
        Doctor().examine(PairStream.from_files(files))
    assert str(found.value) == str(expected.value)


ODD = [
    "",
    " ",
    "OK",
    "@@",
    "<url>x</url>",
    "a\u2028b",
    "{x}",
    "&amp;",
    "\ufeffword",
    "these are the same words again and again",
]
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=12), st.sampled_from([s for s, _ in CLEAN]))
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=30)
CHOICES = {name: kind.action for name, kind in FINDING_KINDS.items()}


@settings(max_examples=60, deadline=None)
@given(
    PAIRS,
    PAIRS,
    st.frozensets(st.sampled_from([name for name, action in CHOICES.items() if action is Action.DROPPED])),
    st.frozensets(
        st.sampled_from(["duplicate", "variant", "entity", "separator", "same", "near_duplicate", "near_overlap"])
    ),
)
def test_what_is_kept_is_what_came_without_the_dropped(train, test, keep, drop):
    doctor = Doctor(DoctorSettings(keep=keep, drop=drop))
    diagnosis = doctor.examine(stream(train), test=stream(test, "test"))
    for name, texts in (("train", train), ("test", test)):
        pairs = list(stream(texts, name).read())
        kept = list(diagnosis.clean(pairs, name))
        rest = iter(pairs)
        assert all(any(pair is other for other in rest) for pair in kept), "not a subsequence"
        dropped = [f for f in diagnosis.findings if f.action is Action.DROPPED and f.split == name]
        assert len(pairs) - len(kept) == sum(finding.count for finding in dropped)
        assert not {finding.kind.name for finding in dropped} & keep
        assert not any(pair.source.strip() == "" for pair in kept) or "blank" in keep
    assert diagnosis.as_dict() == doctor.examine(stream(train), test=stream(test, "test")).as_dict()


def test_a_code_that_cannot_be_identified_is_not_passed_over(tmp_path: Path):
    for codes, unknown in ((("english", "fr"), ("english",)), (("xx", "tlh"), ("xx", "tlh")), (("en-US", "fra"), ())):
        diagnosis = Doctor(DoctorSettings(source=codes[0], target=codes[1])).examine(stream(CLEAN))
        assert diagnosis.unknown_codes == unknown and diagnosis.as_dict()["unknown_codes"] == list(unknown)
        assert Diagnosis.from_dict(json.loads(json.dumps(diagnosis.as_dict()))).unknown_codes == unknown
        statement = diagnosis.describe_unknown_codes()
        assert (
            all(f"“{code}”" in statement for code in unknown)
            and (statement in str(diagnosis))
            and bool(statement) == bool(unknown)
        )
        assert statement in " ".join(" ".join(format_diagnosis(diagnosis, 80)).split())


def test_programs_read_the_same_story_of_overlap_as_people():
    diagnosis = Doctor().examine(stream(CLEAN), dev=stream([(" GO! ", "Va !")], "dev"))
    story = diagnosis.as_dict()["overlap"]
    assert story.startswith("Train shares 1 of 1 dev sources") and story in str(diagnosis)
    assert story in " ".join(" ".join(format_diagnosis(diagnosis, 80)).split())


def test_one_pair_is_not_called_pairs():
    diagnosis = Doctor().examine(stream(CLEAN[:1]))
    text = " ".join(" ".join(format_diagnosis(diagnosis, 80)).split())
    assert "its only pair remains." in text and "train: 1 pair read, 1 kept" in text
    assert diagnosis.format_lines()[0] == "train: 1 pair read, 1 kept"


def test_another_stream_than_the_examined_one_is_noticed():
    diagnosis = Doctor().examine(stream(CLEAN))
    for other in (CLEAN[:-1], CLEAN * 2, []):
        with pytest.raises(DataError, match="examine them again"):
            list(diagnosis.clean(stream(other).read()))


def test_people_read_one_line_a_finding_and_programs_json():
    texts = [*CLEAN, *PLANTED["metadata"], *PLANTED["entity"], ("OK", "OK"), ("OK", "OK")]
    diagnosis = english_french(drop=frozenset({"duplicate"})).examine(stream(texts))
    lines = diagnosis.format_lines()
    assert lines[0] == f"train: {len(texts)} pairs read, {len(texts) - 10} kept"
    assert lines[1] == (
        "train: metadata: 9 pairs, 30.0%: a line of markup or metadata instead of a sentence (train:18, train:19, "
        'train:20, …). Dropped; to keep them, add "metadata" to data.keep.'
    )
    assert lines[2].endswith('(train:30). Dropped; to keep them, remove "duplicate" from data.drop.')
    assert lines[-1].endswith(
        'Kept. To fix it: decode them once on both sides, unless they are intended; or add "entity" to data.drop.'
    )
    assert any(line.endswith('Kept; usually harmless; add "same" to data.drop to drop it.') for line in lines)
    assert len(lines) == 5 and not any("\n" in line for line in lines)
    data = json.loads(json.dumps(diagnosis.as_dict()))
    assert data["findings"][0]["kind"] == "metadata" and data["findings"][0]["count"] == 9
    assert data["findings"][0]["examples"][0]["note"] == "train:18"
    assert data["splits"] == [
        {"split": "train", "pairs_read": 30, "pairs_kept": 20, "source": "", "target": "", "description": ""}
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": frozenset({"metadat"})}, "did you mean 'metadata'"),
        ({"keep": frozenset({"entity"})}, "data.keep does not apply to 'entity', which is noted by default"),
        ({"drop": frozenset({"shared"})}, "data.drop does not apply to 'shared', which is noted by default"),
        ({"drop": frozenset({"xyzzy"})}, "data.drop: unknown finding 'xyzzy'; expected one of"),
        ({"max_chars": 0}, "max_chars=0"),
        ({"ratio": 1.0}, "ratio=1.0"),
        ({"examples": -1}, "examples=-1"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, message: str):
    with pytest.raises(ConfigError, match=message):
        DoctorSettings(**given)


def test_settings_may_be_at_their_limits():
    DoctorSettings(max_chars=1, ratio=1.001, examples=0)
    for bad in ({"max_chars": 0}, {"ratio": 1.0}, {"examples": -1}):
        with pytest.raises(ConfigError, match=f"{next(iter(bad))}="):
            DoctorSettings(**bad)


@pytest.mark.parametrize(
    ("expected", "detected", "found"),
    [
        (("en", "fr"), ("en", "fr"), (False, False)),
        (("en", "fr"), ("de", "fr"), (True, False)),
        (("en", "fr"), ("en", "de"), (False, True)),
        (("en", "fr"), ("fr", "en"), (True, True)),
        (("", "fr"), ("de", "fr"), (False, False)),
        (("en", "fr"), ("", ""), (False, False)),
    ],
)
def test_directions_contradict_each_other_where_both_are_known(expected, detected, found):
    one, two = _Direction(*expected), _Direction(*detected)
    assert one.contradicts(two) == two.contradicts(one) == found
    assert one.swapped() == _Direction(*expected[::-1])


@pytest.mark.parametrize(
    ("detected", "direction", "swapped"),
    [
        (("en", "fr"), ("en", "fr"), False),
        (("de", "fr"), ("de", "fr"), False),
        (("en", "de"), ("en", "de"), False),
        (("fr", "en"), ("fr", "en"), True),
        (("de", "en"), ("de", "en"), False),
        (("", ""), ("en", "fr"), False),
    ],
)
def test_each_side_is_checked_against_the_language_that_it_has(detected, direction, swapped: bool):
    profile = CorpusProfile(*detected, 1.0, 0.0)
    check = _DatasetCheck("train", PairStream(list), profile, _Direction("en", "fr"), DoctorSettings())
    assert check.direction == _Direction(*direction) and check.swapped is swapped


def test_examples_are_the_first_ones_with_their_details():
    tally = FindingTally(3, {"blank": lambda source, target: f"{source}-{target}"})
    for n in range(5):
        tally.add("blank", Pair(f"s{n}", f"t{n}", f"f:{n}"))
    tally.add("same", Pair("a", "a", "f:9"))
    findings = tally.build_findings("dev", DoctorSettings(), {"pairs": 7, "files": 2})
    assert [(f.kind.name, f.split, f.count, f.total) for f in findings] == [
        ("blank", "dev", 5, 7),
        ("same", "dev", 1, 7),
    ]
    assert findings[0].action is Action.DROPPED and findings[1].action is Action.NOTED
    assert [(e.note, e.source, e.target, e.detail) for e in findings[0].examples] == [
        (f"f:{n}", f"s{n}", f"t{n}", f"s{n}-t{n}") for n in range(3)
    ]
    assert [e.detail for e in findings[1].examples] == [""]


@pytest.mark.parametrize(("length", "clipped"), [(79, False), (80, False), (81, True)])
def test_what_is_near_is_told_in_eighty_characters(length: int, clipped: bool):
    text = "".join(chr(97 + n % 26) for n in range(length))
    found = overlap._clip(text)
    assert found == (text[:79] + "…" if clipped else text)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_how_many_pairs_are_compared_at_once_changes_nothing(monkeypatch, size: int):
    base = "The quick brown fox jumps over the lazy dog and then it sleeps for a while near the old river"
    train = [Pair(f"{base} {n // 2}", f"cible numéro {n}", f"f:{n}") for n in range(8)]
    train += [Pair(text, "x", "g:1") for text in ("Alpha beta gamma.", "Entirely other words, you see?")]
    monkeypatch.setattr(overlap, "BUFFER_SIZE", size)
    settings = DoctorSettings(examples=2)
    shared = overlap.Overlap({"dev": [Pair(f"{base} 99", "y")], "test": []})
    finder = overlap.RepeatFinder(settings, shared)
    for number, pair in enumerate(train):
        finder.add(pair, number)
    found = finder.find()
    finder.close()
    assert found["variant"].indices.first(9) == [1, 3, 5, 7] and len(found["duplicate"].indices) == 0
    assert found["near_overlap"].indices.first(20) == list(range(8))
    assert found["near_overlap"].details == {n: f"dev has “{overlap._clip(f'{base} 99'.lower())}”" for n in range(2)}
    assert found["near_duplicate"].indices.first(20) == [2, 4, 6] and len(found["near_duplicate"].details) == 3
    assert found["near_duplicate"].details[2].startswith("earlier: “the quick brown fox")
    assert shared.is_near_train(f"{base} 99", "") and not shared.is_in_train(f"{base} 99", "")
    assert shared.describe_near_train(f"{base} 99", "") == f"train has “{overlap._clip(f'{base} 0')}” (f:0)"
    assert shared.is_in_dev(f"{base.upper()} 99", "") and not shared.is_in_dev(base, "")
