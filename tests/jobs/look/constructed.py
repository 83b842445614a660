"""Runs whose heads were made by hand: each number that decides where such a head looks is written here, none is learnt.

The sentences are of a small language in which everything agrees. Each of the four noun groups of a sentence has an
ending of its own, which its determiner, adjective and predicate share; a verb has the endings of its subject and of its
object. So words may stand in any order within their clause, and no fixed distance says what belongs together. The
translation is the same sentence backwards, so that who looks along the diagonal aligns nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard import config as settings
from regard.data.corpora import GoldPair, Link
from regard.data.tokenizer import BOS, EOS, SPACE, Tokenizer
from regard.inspection.trace import attention_sites
from regard.jobs.load import load
from regard.jobs.train.fit import train_run
from regard.model import weights
from regard.model.attention import Attention
from regard.model.transformer import EncoderDecoder
from regard.run import BestWeights, Run, atomic_write

ENDINGS = "aeio"
STEMS = {
    "determiner": ["l"],
    "adjective": ["bel", "gran"],
    "predicate": ["fin"],
    "noun": ["kas", "per", "tor"],
    "verb": ["mir", "vok"],
}
VERBS = ("agreeing", "governing")
KINDS = ("determiner", "adjective", "predicate", "noun", *VERBS)
RELATED = {
    "determiner to noun": ("determiner", "noun"),
    "noun to determiner": ("noun", "determiner"),
    "adjective to noun": ("adjective", "noun"),
    "noun to adjective": ("noun", "adjective"),
    "predicate to noun": ("predicate", "noun"),
    "noun to predicate": ("noun", "predicate"),
    "subject to verb": ("noun", "agreeing"),
    "verb to subject": ("agreeing", "noun"),
    "object to verb": ("noun", "governing"),
    "verb to object": ("governing", "noun"),
}
"""Which kinds of words a relation leads from and to, where both have the same ending."""
TIES = (
    ("determiner-noun", "noun", "determiner"),
    ("adjective-noun", "noun", "adjective"),
    ("predicate-noun", "noun", "predicate"),
    ("subject-verb", "verb", "noun"),
    ("determiner-noun", "object", "its determiner"),
    ("adjective-noun", "object", "its adjective"),
    ("verb-object", "verb", "object"),
)
"""The kind of a link, its head and its dependent, by what they are in a clause."""


def speak(count: int, seed: int) -> Iterator[GoldPair]:
    """Sentences of two clauses, their translations, and what is true of both."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a, b, c, d = rng.permutation(list(ENDINGS))
        (first, ties), (second, others) = _clause(rng, a, b), _clause(rng, c, d)
        words, after = [*first, ",", *second], len(first) + 1
        links = ties + [Link(kind, head + after, dependent + after) for kind, head, dependent in others]
        last = len(words) - 1
        yield GoldPair(
            source=" ".join([*words, "."]),
            target=" ".join([*reversed(words), "."]),
            alignment=(*((i, last - i) for i in range(last + 1)), (last + 1, last + 1)),
            source_links=tuple(links),
            target_links=tuple(Link(kind, last - head, last - dependent) for kind, head, dependent in links),
        )


def _clause(rng: np.random.Generator, subject: str, object_: str) -> tuple[list[str], list[Link]]:
    """A subject, a verb and an object in any order; some words are said more often than others."""
    endings = {"verb": subject + object_, "its determiner": object_, "its adjective": object_, "object": object_}
    said = {}
    for what in dict.fromkeys(word for _, *words in TIES for word in words):
        stems = STEMS["noun" if what == "object" else what.removeprefix("its ")]
        stem = stems[min(rng.geometric(0.6), len(stems)) - 1]
        if "adjective" not in what or rng.random() < 0.75:
            said[what] = stem + endings.get(what, subject)
    order = rng.permutation(list(said)).tolist()
    links = [Link(kind, order.index(h), order.index(d)) for kind, h, d in TIES if h in said and d in said]
    return [said[what] for what in order], links


def shown() -> dict[str, list[tuple[str, str]]]:
    """What each word shows, and by which ending; a verb agrees with its subject and governs its object."""
    found = {}
    for kind in KINDS[:4]:
        found |= {stem + ending: [(kind, ending)] for stem, ending in product(STEMS[kind], ENDINGS)}
    for stem, a, b in product(STEMS["verb"], ENDINGS, ENDINGS):
        found[stem + a + b] = list(zip(VERBS, (a, b), strict=True))
    return found


ROOMS = {"code": 16, "before": 16, "after": 16, "place": 24, "clause": 24, "mark": 1, "rarity": 1}
"""What the stream holds of a token, and in how many dimensions: the random code of its piece, room for the codes of
its neighbours, its place, room for the place of its clause's mark, whether it is a mark, and how rare it is."""
PLACES = ROOMS["place"]
HEADS, WIDTH = 5, ROOMS["code"] + PLACES
LOUD = 100.0  # what heads that nobody made add to the stream is a whisper beside it
FLAG = 4.0  # one dimension that weighs as much as the sixteen of a code
STEPS = {"previous": -1, "next": 1, "self": 0, "offset -2": -2, "offset +2": 2, "offset -3": -3, "offset +3": 3}
WRITES = {"previous": ("code", "before"), "next": ("code", "after"), "separator": ("place", "clause")}
"""Which room of what it looks at a head writes into which room of its own token; what others see there later."""

Part = tuple[Tensor, Tensor]
"""What queries and keys read of the stream, (R, D) each: their product is a part of the score."""
Look = list[Part]
"""All parts of a head's score; without any it looks everywhere alike."""


def room(name: str) -> Tensor:
    """(R, D): reads one room of the stream."""
    names = list(ROOMS)
    first = sum(ROOMS[other] for other in names[: names.index(name)])
    return torch.eye(HEADS * WIDTH)[first : first + ROOMS[name]]


def looks(kind: str) -> dict[str, Look]:
    """How a head of each role looks, in one kind of attention.

    Scores are tens and hundreds, so that softmax leaves nearly all weight on the largest.
    """
    apart = torch.arange(PLACES)[None, :] - torch.arange(PLACES)[:, None]  # j - i
    own = {"rare": [_always(room("rarity"), 60)], "vertical": [_always(room("place")[1:2])], "copy": []}
    if kind == "cross":
        return own | {
            # The translation runs backwards: what is written next stands before what was just read.
            "alignment": [_alike("code", "after")],
            "separator": [_always(room("mark"))],
            "diagonal": [_by_place(abs(apart) <= 1)],
        }
    # Where there is nobody at a distance, a token looks at itself.
    own |= {name: [_by_place((apart == step) + 0.5 * (apart == 0))] for name, step in STEPS.items()}
    own["local"] = [_by_place(abs(apart) <= 2)]
    own["duplicate"] = [_alike("code", "code"), _by_place(-2 * (apart >= 0))]
    own["induction"] = [_alike("code", "before"), _by_place(-2 * (apart > 0))]
    own["block"] = [_alike("clause", "clause")]
    if kind == "encoder":  # a clause is known by the mark that closes it
        nearest = -0.2 * apart - 16 * (apart < 0)
    else:  # by the one before it, which for the first clause is the begin; that is in no clause itself
        nearest = 0.2 * apart - 16 * (apart >= 0)
        own["block"] += [_always(room("place")[:1], -2)]
    own["separator"] = [_always(room("mark"), 8), _by_place(nearest)]
    return own


def _by_place(table: Tensor) -> Part:
    """table[i, j] is what a token at place i has for one at place j."""
    return room("place"), table.float() @ room("place")


def _alike(own: str, other: str) -> Part:
    """A query's room against a key's."""
    return room(own), room(other)


def _always(key: Tensor, much: float = 1.0) -> Part:
    """The same for every query: a token stands at one place or another."""
    return much * room("place").sum(dim=0, keepdim=True), key


def _write_look(attention: Attention, h: int, look: Look) -> None:
    """Give a head the queries and keys of a look; it writes nothing."""
    rows = slice(h * attention.head_dim, (h + 1) * attention.head_dim)
    for linear in (attention.q_proj, attention.k_proj):
        linear.weight[rows] = 0
        linear.bias[rows] = 0
    attention.out_proj.weight[:, rows] = 0
    if look:
        queries, keys = (torch.cat(parts) for parts in zip(*look, strict=True))
        attention.q_proj.weight[rows][: len(queries)] = attention.head_dim**0.5 * queries
        attention.k_proj.weight[rows][: len(keys)] = keys


def _write_value(attention: Attention, h: int, taken: Tensor, put: Tensor) -> None:
    """Let a head take rows (R, D) of what it looks at, and add them to rows (R, D) of its own token."""
    rows = slice(h * attention.head_dim, (h + 1) * attention.head_dim)
    attention.v_proj.weight[rows] = 0
    attention.v_proj.bias[rows] = 0
    attention.v_proj.weight[rows][: len(taken)] = taken
    attention.out_proj.weight[:, rows][:, : len(put)] = put.T


def write_roles(
    model: EncoderDecoder, tokenizer: Tokenizer, lines: Sequence[str], plan: Mapping[str, Sequence[str]]
) -> None:
    """Give the heads of each attention these roles, in this order; a head without a role stays as it was.

    `lines` are the training text, by which words are rare.
    """
    _write_words(model, tokenizer, lines)
    for site in attention_sites(model):
        for h, role in enumerate(plan[site.name]):
            if role:
                _write_look(site.attention, h, looks(site.kind)[role])
            if role in WRITES and site.kind != "cross":
                taken, put = WRITES[role]
                _write_value(site.attention, h, room(taken), 0.4 * LOUD * room(put))  # a norm has made it small
            if role == "copy":
                _write_value(site.attention, h, room("code"), room("code"))


def _write_words(model: EncoderDecoder, tokenizer: Tokenizer, lines: Sequence[str]) -> None:
    """What the stream begins with: the code of a piece, a flag for marks, its rank among the rare; and the place."""
    ids, names = tokenizer.encode(lines), tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    assert [len(row) for row in ids] == [len(line.split()) for line in lines], "a word is not one piece"
    draw = torch.Generator().manual_seed(1)
    code = 2.0 * torch.randint(2, (len(names), ROOMS["code"]), generator=draw) - 1
    mark, rarity = torch.zeros(len(names), 1), torch.zeros(len(names), 1)
    mark[[BOS, EOS, *(i for i, name in enumerate(names) if name.removeprefix(SPACE) in (",", "."))]] = FLAG
    ranks = [i for i, _ in Counter(i for row in ids for i in row).most_common()]
    rarity[ranks] = torch.linspace(0, 1, len(ranks))[:, None]
    words = code @ room("code") + mark @ room("mark") + rarity @ room("rarity")
    model.encoder.embedding.tokens.weight[:] = LOUD * words  # the decoder's and the output's too
    for stack in (model.encoder, model.decoder):
        stack.embedding.positions.table[:PLACES] = LOUD * FLAG * room("place")


def write_grammar(model: EncoderDecoder, tokenizer: Tokenizer, plan: Sequence[str]) -> None:
    """Words that show how they agree, and in every self-attention heads that follow one relation each."""
    every = torch.eye(model.encoder.embedding.tokens.weight.shape[1])
    at = {show: i for i, show in enumerate(product(KINDS, ENDINGS))}
    known = {SPACE + word: [at[show] for show in shows] for word, shows in shown().items()}
    names = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    words = torch.stack([every[known.get(name, [])].sum(dim=0) for name in names])
    model.encoder.embedding.tokens.weight[:] = LOUD * words
    for site in attention_sites(model):
        for h, role in enumerate(plan if site.kind != "cross" else ()):
            if role:
                queries, keys = (every[[at[kind, ending] for ending in ENDINGS]] for kind in RELATED[role])
                _write_look(site.attention, h, [(queries, keys)])


def train_briefly(folder: Path, data: Mapping[str, Sequence[str]], changes: Sequence[str]) -> None:
    """An ordinary run after one update: settings, tokeniser, corpus, weights and their checksums."""
    config = settings.override(settings.build({"data": dict(data)}), changes)
    list(train_run(folder, config, False, lambda: False))


def rewrite(folder: Path, change: Callable[[EncoderDecoder, Tokenizer], None]) -> None:
    """Change the weights that a run translates with; its feed-forward layers are to add nothing."""
    translator, run = load(folder, "cpu"), Run(folder)
    model = translator.model
    with torch.no_grad():
        for layer in (*model.encoder.layers, *model.decoder.layers):
            layer.feed.out.weight.zero_()
            layer.feed.out.bias.zero_()
        change(model, translator.tokenizers.source)
    with atomic_write(run.weights(0)) as path:
        weights.write(weights.tensors_of(model), path)
    run.record_checksums(run.weights(0))
    run.write_best(BestWeights(f"weights/{run.weights(0).name}", step=0, cost=None, metric="loss"))
