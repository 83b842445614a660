"""What must be carried over, and what a translation may not do."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.formats import check_translation
from regard.formats.placeholders import iter_placeholders


def count_placeholders(text: str, flags: Sequence[str] = ()) -> Counter[str]:
    return Counter(placeholder.text for placeholder in iter_placeholders(text, flags))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("%s of %d", ["%s", "%d"]),
        ("%1$s %2$-5.2f %(name)s %(n)03d", ["%1$s", "%2$-5.2f", "%(name)s", "%(n)03d"]),
        ("%lu %zu %.*f %@", ["%lu", "%zu", "%.*f", "%@"]),
        ("100%% sure", ["%%"]),
        ("{} {0} {name} {0:.2f} {x!r:>10} {a.b[0]}", ["{}", "{0}", "{name}", "{0:.2f}", "{x!r:>10}", "{a.b[0]}"]),
        ("{{ name }} {{x}} {% trans %}", ["{{ name }}", "{{x}}", "{% trans %}"]),
        ("${HOME} %{count} $5", ["${HOME}", "%{count}"]),
        ("<%= name %> has 3 <% if x %>", ["<%= name %>", "<% if x %>"]),
        ('<a href="%s">x</a><br/>', ['<a href="%s">', "</a>", "<br/>"]),
        ("<g1>x</g1> <ph2/>", ["<g1>", "</g1>", "<ph2/>"]),
        ("see :func:`len` and :ref:`the docs <intro>`", [":func:`len`", ":ref:`intro`"]),
        (":py:class:`~a.B`", [":py:class:`~a.B`"]),
        ("50 % de 100% d'eau, a < b, c > d, {a b}, : `x`, 5 $", []),
        ("%count% files of %user.name%", ["%count%", "%user.name%"]),
        (":count files, :Name", [":count", ":Name"]),
        ("@count files by @user-name.", ["@count", "@user-name"]),
        ("$name has $_n files", ["$name", "$_n"]),
        ("%1 of %2, %L3", ["%1", "%2", "%L3"]),
        ("&File and E&xit", ["&F"]),
        ("see https://a.org/x?y=1&z=%20. Or (ftp://b.org)", ["https://a.org/x?y=1&z=%20", "ftp://b.org"]),
        (
            "{count, plural, =0 {none} one {# file of {name}} other {# files of {name}}}",
            ["{count, plural, …}", "{name}"],
        ),
        ("{n, number} {d, date, short}", ["{n, number}", "{d, date}"]),
        ("{who, select, male {he} other {they}}", ["{who, select, …}"]),
    ],
)
def test_placeholders_are_found(text, found):
    assert count_placeholders(text) == Counter(found)


PROSE = [
    "50% off", "50 % off", "50%off", "a 100%discount", "5% or 10%", "50%, or %", "%-formatting", "100% sure",
    "e.g. : this", "e.g. :", "It is 10:30.", "Note: see a:b", "a ratio of 1:2", "std::vector", ":-) :)", "le verbe :",
    "R&D", "AT&T", "salt & pepper", "&amp; &#39; &eacute;", "Q&A", "a && b", "M&Ms",
    "me@example.com", "5 @ $3", "@example.com", "a @ b",
    "$5", "US$5", "5 $", "$1,000", "a $ b", "$(x)",
    "10 %1.5", "{a b}", "{ }", "{, }", "{count, two}",
]  # fmt: skip


@pytest.mark.parametrize("text", PROSE)
def test_ordinary_prose_has_no_placeholders(text: str):
    assert count_placeholders(text) == Counter()


def test_flags_settle_what_a_percent_sign_is():
    assert count_placeholders("50 % de %s") == Counter(["%s"])
    assert count_placeholders("50 % de %s", ["c-format"]) == Counter(["% d", "%s"])
    assert count_placeholders("50 % de %s %%", ["no-c-format"]) == Counter()
    assert count_placeholders("%s", ["no-c-format", "python-format"]) == Counter(["%s"])
    assert count_placeholders("%s", ["fuzzy", "no-wrap"]) == Counter(["%s"])


@pytest.mark.parametrize(
    ("source", "translation", "flags", "reason"),
    [
        ("Hello", " ", (), "it is empty"),
        ("a\n", "b", (), "only one of the two ends with a line feed"),
        ("a", "\nb", (), "only one of the two begins with a line feed"),
        ("a\nb\nc", "a b\nc", (), "it has 1 line feeds instead of 2"),
        ("a", "b\a", (), "it has the control character U+0007"),
        ("a", "b\r", (), "it has the control character U+000D"),
        ("a", "b\ufffd", (), "it has the control character U+FFFD"),
        ("%s and %s", "%s", (), "it lacks %s"),
        ("%(name)s", "%(nom)s", (), "it lacks %(name)s"),
        ("a", "{} {}", (), "it adds {} {}"),
        ("100%%", "100", (), "it lacks %%"),
        ("<b>a</b>", "<b>a", (), "it lacks </b>"),
        (":func:`len`", ":func:`longueur`", (), "it lacks :func:`len`"),
        (":ref:`a <b>`", ":ref:`a <c>`", (), "it lacks :ref:`b`"),
        ("%s of %d", "%d de %s", (), "its %d %s come in another order"),
        ("{:d} {!r}", "{!r} {:d}", (), "its {!r} {:d} come in another order"),
        ("<b>a</b>", "</b>a<b>", (), "it closes </b> in the wrong place"),
        ("<b>a</b> <i>b</i>", "<b>a <i>b</b></i>", (), "it closes </b> in the wrong place"),
        ("%d", "%d à 100 %", ("python-format",), "it has a % that is not written %%"),
        ("%d", "%d à 100 %1", ("c-format",), "it has a % that is not written %%"),
        ("%s has %d", "%2$s a %1$d", ("c-format",), "it lacks %s %d"),
        ("%s has %d", "%2$d : %1$s", ("python-format",), "it lacks %s %d"),
        ("%s has %d", "%2$d : %s", ("c-format",), "it mixes placeholders with and without numbers"),
        ("%count% files", "%nombre% fichiers", (), "it lacks %count%"),
        (":count files", ":nombre fichiers", (), "it lacks :count"),
        ("@count files", "@nombre fichiers", (), "it lacks @count"),
        ("$count files", "$ count fichiers", (), "it lacks $count"),
        ("%1 of %2", "%1 de", (), "it lacks %2"),
        ("%1 of it", "%1 de %2", (), "it adds %2"),
        ("&File", "Fichier", (), "it lacks &F"),
        ("see https://a.org/x", "voir https://a.org/y", (), "it lacks https://a.org/x"),
        ("see this", "voir https://a.org", (), "it adds https://a.org"),
        ("{n, plural, one {# a} other {# b}}", "{m, plural, one {#} other {#}}", (), "it lacks {n, plural, …}"),
        ("{n, plural, one {# a} other {# b}}", "{n, plural, one {#}}", (), "its {n, plural, …} has no branch 'other'"),
        ("{n, plural, one {# a} other {# b}}", "{n, plural, one {#} other {#}", (), "it lacks {n, plural, …}"),
        ("{n, plural, one {{x}} other {{x} b}}", "{n, plural, one {y} other {z}}", (), "it lacks {x}"),
        (
            "{w, select, male {he} other {they}}",
            "{w, select, homme {il} other {ils}}",
            (),
            "its {w, select, …} has other branches than the source: homme male",
        ),
        (
            "{} a",
            "{} a }",
            ("python-brace-format",),
            "its braces do not match (Single '}' encountered in format string)",
        ),
    ],
)
def test_a_broken_translation_is_named(source, translation, flags, reason):
    assert check_translation(source, translation, flags) == reason


@pytest.mark.parametrize(
    ("source", "translation", "flags"),
    [
        ("\nHello %s\n", "\nBonjour %s\n", ("c-format",)),
        ("%(a)s of %(b)s", "%(b)s : %(a)s", ("python-format",)),
        ("%1$s of %2$s", "%2$s : %1$s", ("c-format",)),
        ("{a} of {b}", "{b} : {a}", ("python-brace-format",)),
        ("100%", "100 %", ()),
        ("at 100%", "à 100 % de", ("no-python-format",)),
        (":ref:`the docs <intro>`", ":ref:`la documentation <intro>`", ()),
        ("<b>a</b> <i>b</i>", "<i>b</i> <b>a</b>", ()),
        ("a<br>b</p>", "b<br>a</p>", ()),
        ("%s has %d", "%2$d : %1$s", ("c-format",)),
        ("%s has %d", "%2$d : %1$s", ()),
        ("{} has {:d}", "{1:d} : {0}", ("python-brace-format",)),
        ("%Y-%m-%d", "%d/%m/%Y", ()),
        ("%count% of %total%", "%total%, dont %count%", ()),
        ("note: see it", "note :voir cela @ici pour $rien, %1", ()),
        ("&File", "&Datei", ()),
        ("&File", "ファイル(&F)", ()),
        ("R&D", "R & D", ()),
        ("see https://a.org/en/x", "voir https://www.a.org/fr/x", ()),
        ("<https://en.wikipedia.org/wiki/Cat>", "<https://fr.wikipedia.org/wiki/Chat>", ()),
        (":dfn:`a word` :term:`cat`", ":dfn:`un mot` :term:`chat`, le 1\\ :sup:`er`", ()),
        (
            "{n, plural, one {# file} other {# files}}",
            "{n, plural, one {# soubor} few {# soubory} other {# souborů}}",
            (),
        ),
        ("{n, number} {name}", "{name} {n,number}", ()),
        ("{}", "{}}", ()),
        ("bell\a", "cloche\a", ()),
        ("", "", ()),
        (" ", "", ()),
    ],
)
def test_a_sound_translation_passes(source, translation, flags):
    assert check_translation(source, translation, flags) == ""


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.sampled_from("%{}<>/$()sd0 :`a\n\"'")), st.sampled_from([(), ("c-format",), ("python-brace-format",)])
)
def test_a_text_carries_its_own_placeholders(text, flags):
    """Whatever is found in a text is found in it again: copying is never a loss."""
    reason = check_translation(text, text, flags)
    assert reason == "" or reason.startswith("its braces do not match")


@pytest.mark.parametrize(
    ("text", "flags", "expected"),
    [
        ("%s", (), ("printf", "%s", "%1$s", True)),
        ("%s", ("python-format",), ("printf", "%s", "%1s", True)),
        ("%ld", (), ("printf", "%ld", "%1$ld", True)),
        ("%2$s", (), ("printf", "%2$s", "%2$s", False)),
        ("%(a)-5d", (), ("printf", "%(a)-5d", "%(a)d", False)),
        ("%Y", (), ("printf", "%Y", "%Y", False)),
        ("%%", (), ("percent", "%%", "%%", False)),
        ("%ab%", (), ("percent_name", "%ab%", "%ab%", False)),
        ("%1", (), ("number", "%1", "%1", False)),
        ("{}", (), ("brace", "{}", "{0}", True)),
        ("{!r}", (), ("brace", "{!r}", "{0!r}", True)),
        ("{a}", (), ("brace", "{a}", "{a}", False)),
        ("{{ a }}", (), ("template", "{{ a }}", "{{ a }}", False)),
        ("<b>", (), ("tag", "<b>", "<b>", False)),
        ("<https://www.x.org/fr/a/>", (), ("url", "<https://www.x.org/fr/a/>", "//x.org/a", False)),
        ('<a href="https://x.org/fr/">', (), ("tag", '<a href="https://x.org/fr/">', '<a href="//x.org">', False)),
        ("https://x.org/", (), ("url", "https://x.org/", "//x.org", False)),
        (":ref:`words <to>`", (), ("role", ":ref:`to`", ":ref:`to`", False)),
        (":func:`!len`", (), ("role", ":func:`!len`", ":func:`len`", False)),
        (":dfn:`words`", (), ("role", ":dfn:`words`", ":dfn:", False)),
        ("&File", (), ("accelerator", "&F", "&", False)),
        (":name", (), ("colon", ":name", ":name", False)),
        ("@name", (), ("at", "@name", "@name", False)),
        ("$name", (), ("dollar", "$name", "$name", False)),
        ("{n, number}", (), ("message", "{n, number}", "{n, number}", False)),
        ("{n, select, other {x}}", (), ("message", "{n, select, …}", "{n, select}", False)),
    ],
)
def test_a_placeholder_has_a_kind_a_text_and_a_key(text: str, flags: tuple[str, ...], expected):
    (found,) = iter_placeholders(text, flags)
    assert (found.kind, found.text, found.key, found.is_unnumbered) == expected
    assert found.is_weak == (found.kind in ("percent_name", "number", "colon", "at", "dollar", "accelerator"))


def test_arguments_are_counted_in_their_order():
    keys = [found.key for found in iter_placeholders("%s %*d {} %1$s {} %.*f {x}")]
    assert keys == ["%1$s", "%3$d", "{0}", "%1$s", "{1}", "%5$f", "{x}"]
    assert list(iter_placeholders("1:sup:`er`")) == []
    nested = [found.key for found in iter_placeholders("{n, plural, one {%s {a}} other {%s {b}}} {c}")]
    assert nested == ["{n, plural}", "%1$s", "{a}", "{b}", "{c}"]


@pytest.mark.parametrize("depth", [20, 21])
def test_braces_are_so_deep_at_most(depth: int):
    text = "{n, select, other " + "{" * (depth - 1) + "x" + "}" * (depth - 1) + "}"
    assert any(found.kind == "message" for found in iter_placeholders(text)) == (depth == 20)
