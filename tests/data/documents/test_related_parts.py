"""Titles, headings and first sentences of documents, each with the text that it is about."""

from regard.data.documents.related_parts import DocumentSection, relate_parts, split_sections
from regard.formats.document_texts import DocumentText

MARKDOWN = """# Paying #

Pay by card. Or pay in cash, of course.

## By card
All cards are taken here.
Even old ones work.

```sh
# no heading
```

Fees
----
There are no fees at all.
"""
PLAIN = """On cats

Cats sleep all day long. They eat at night.

Their food

Fish is what they like best.
"""


def test_sections_of_markdown_and_of_plain_text():
    assert split_sections(MARKDOWN) == [
        DocumentSection("Paying", ("Pay by card. Or pay in cash, of course.",)),
        DocumentSection("By card", ("All cards are taken here. Even old ones work.",)),
        DocumentSection("Fees", ("There are no fees at all.",)),
    ]
    assert [section.heading for section in split_sections(PLAIN)] == ["On cats", "Their food"]
    assert split_sections("No heading.\n\nAt all.") == [DocumentSection("", ("No heading.", "At all."))]
    assert split_sections("") == [DocumentSection("", ())]


def pairs(text: str, *kinds: str) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in relate_parts([DocumentText(text, "x:1")], kinds, "en")]


def test_what_belongs_together():
    (title,) = pairs(PLAIN, "title")
    assert title == ("On cats", "Cats sleep all day long. They eat at night. Fish is what they like best.")
    assert pairs(PLAIN, "heading") == [("Their food", "Fish is what they like best.")]
    assert pairs(PLAIN, "sentence") == [("Cats sleep all day long.", "They eat at night.")]
    assert pairs(MARKDOWN, "heading")[0][0] == "By card" and len(pairs(MARKDOWN, "sentence")) == 2
    assert pairs("Cats\n\nCats sleep well.\n", "title") == [] != pairs("Cats\n\nCats sleep very well.\n", "title")
    assert pairs("No heading. And so on it goes.", "title", "heading") == []


def test_every_pair_is_made_once_and_names_its_document():
    documents = [DocumentText(PLAIN, "a.txt:1"), DocumentText(PLAIN, "b.txt:1")]
    made = list(relate_parts(documents, ["title", "heading", "sentence"]))
    assert len(made) == 3 and {pair.location for pair in made} == {"a.txt:1"}
    assert not any(mark in pair.source + pair.target for pair in made for mark in "\t\n")


def test_a_body_that_repeats_its_title_loses_it():
    document = "# A wing in a slipstream .\n\na wing in  a SLIPSTREAM . It was studied with great care.\n"
    assert pairs(document, "title") == [("A wing in a slipstream .", "It was studied with great care.")]
    assert pairs("# A wing and its tail\n\nA wing and its tail\nin flight\n", "title") == []  # hardly a text is left
    other = ("A wing and its tail", "A wing and its tails in flight.")
    assert pairs("# A wing and its tail\n\nA wing and its tails in flight.\n", "title") == [other]
    assert pairs("# Cats\n\nCats sleep all day long.\n", "title") == [("Cats", "Cats sleep all day long.")]
