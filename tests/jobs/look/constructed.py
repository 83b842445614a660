"""Runs with hand-written heads: every weight that decides what such a head attends to is set here, none is learned.

The sentences are of a small language in which everything agrees. Each of the four noun groups of a sentence has its own
ending, which its determiner, adjective and predicate share; a verb has the endings of its subject and of its object. So
words may have any order within their clause, and no fixed distance tells what belongs together. The translation is the
same sentence backwards, so that a diagonal head aligns nothing.
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
from regard.data.tokenizers.tokenizer import BOS, EOS, SPACE, Tokenizer
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
"""The kinds of words that a relation leads from and to, where both have the same ending."""
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


def generate_pairs(count: int, seed: int) -> Iterator[GoldPair]:
    """Sentences of two clauses, their translations, and the gold annotation of both."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        a, b, c, d = rng.permutation(list(ENDINGS))
        (first, ties), (second, other_ties) = _clause(rng, a, b), _clause(rng, c, d)
        words, after = [*first, ",", *second], len(first) + 1
        links = ties + [Link(kind, head + after, dependent + after) for kind, head, dependent in other_ties]
        last = len(words) - 1
        yield GoldPair(
            source=" ".join([*words, "."]),
            target=" ".join([*reversed(words), "."]),
            alignment=(*((i, last - i) for i in range(last + 1)), (last + 1, last + 1)),
            source_links=tuple(links),
            target_links=tuple(Link(kind, last - head, last - dependent) for kind, head, dependent in links),
        )


def _clause(rng: np.random.Generator, subject: str, object_: str) -> tuple[list[str], list[Link]]:
    """A subject, a verb and an object in any order; some words are more frequent than others."""
    endings = {"verb": subject + object_, "its determiner": object_, "its adjective": object_, "object": object_}
    words = {}
    for what in dict.fromkeys(word for _, *pair in TIES for word in pair):
        stems = STEMS["noun" if what == "object" else what.removeprefix("its ")]
        stem = stems[min(rng.geometric(0.6), len(stems)) - 1]
        if "adjective" not in what or rng.random() < 0.75:
            words[what] = stem + endings.get(what, subject)
    order = rng.permutation(list(words)).tolist()
    links = [Link(kind, order.index(h), order.index(d)) for kind, h, d in TIES if h in words and d in words]
    return [words[what] for what in order], links


def word_features() -> dict[str, list[tuple[str, str]]]:
    """The kind and ending of each word; a verb agrees with its subject and governs its object."""
    features = {}
    for kind in KINDS[:4]:
        features |= {stem + ending: [(kind, ending)] for stem, ending in product(STEMS[kind], ENDINGS)}
    for stem, a, b in product(STEMS["verb"], ENDINGS, ENDINGS):
        features[stem + a + b] = list(zip(VERBS, (a, b), strict=True))
    return features


SUBSPACES = {"code": 16, "before": 16, "after": 16, "position": 24, "clause": 24, "mark": 1, "rarity": 1}
"""The subspaces of the residual stream and their dimensions: the random code of a token, those of its neighbors, its
position, the position of its clause's separator, whether it is a separator, and how rare it is."""
POSITIONS = SUBSPACES["position"]
HEADS, WIDTH = 5, SUBSPACES["code"] + POSITIONS
SCALE = 100.0  # large beside what the untouched heads add to the stream
FLAG = 4.0  # one dimension that weighs as much as the sixteen of a code
STEPS = {"previous": -1, "next": 1, "self": 0, "offset -2": -2, "offset +2": 2, "offset -3": -3, "offset +3": 3}
WRITES = {"previous": ("code", "before"), "next": ("code", "after"), "separator": ("position", "clause")}
"""The subspace of the key that a head copies, and the subspace of the query that it is written to."""

Part = tuple[Tensor, Tensor]
"""The projections of queries and keys, (R, D) each: their product is a part of the score."""
ScoreParts = list[Part]
"""All parts of a head's score; without any it attends uniformly."""


def subspace(name: str) -> Tensor:
    """(R, D): reads one subspace of the stream."""
    names = list(SUBSPACES)
    first = sum(SUBSPACES[other] for other in names[: names.index(name)])
    return torch.eye(HEADS * WIDTH)[first : first + SUBSPACES[name]]


def role_scores(kind: str) -> dict[str, ScoreParts]:
    """The scores of a head of each role, in one kind of attention.

    Scores are tens and hundreds, so that softmax leaves nearly all weight on the largest.
    """
    distance = torch.arange(POSITIONS)[None, :] - torch.arange(POSITIONS)[:, None]  # j - i
    scores = {"rare": [_always(subspace("rarity"), 60)], "vertical": [_always(subspace("position")[1:2])], "copy": []}
    if kind == "cross":
        return scores | {
            # The translation runs backwards: the next output token comes before the one just read.
            "alignment": [_match("code", "after")],
            "separator": [_always(subspace("mark"))],
            "diagonal": [_by_position(abs(distance) <= 1)],
        }
    # Where no token has that distance, a token attends to itself.
    scores |= {name: [_by_position((distance == step) + 0.5 * (distance == 0))] for name, step in STEPS.items()}
    scores["local"] = [_by_position(abs(distance) <= 2)]
    scores["duplicate"] = [_match("code", "code"), _by_position(-2 * (distance >= 0))]
    scores["induction"] = [_match("code", "before"), _by_position(-2 * (distance > 0))]
    scores["block"] = [_match("clause", "clause")]
    if kind == "encoder":  # the separator that closes a clause identifies it
        nearest = -0.2 * distance - 16 * (distance < 0)
    else:  # the one before it does; for the first clause the begin token, which is in no clause itself
        nearest = 0.2 * distance - 16 * (distance >= 0)
        scores["block"] += [_always(subspace("position")[:1], -2)]
    scores["separator"] = [_always(subspace("mark"), 8), _by_position(nearest)]
    return scores


def _by_position(table: Tensor) -> Part:
    """table[i, j] is the score of a query at position i for a key at position j."""
    return subspace("position"), table.float() @ subspace("position")


def _match(query: str, key: str) -> Part:
    """A subspace of the query against one of the key."""
    return subspace(query), subspace(key)


def _always(key: Tensor, scale: float = 1.0) -> Part:
    """The same for every query, because every token has a position."""
    return scale * subspace("position").sum(dim=0, keepdim=True), key


def _write_scores(attention: Attention, h: int, score_parts: ScoreParts) -> None:
    """Give a head these queries and keys; it adds nothing to the stream."""
    rows = slice(h * attention.head_dim, (h + 1) * attention.head_dim)
    for linear in (attention.q_proj, attention.k_proj):
        linear.weight[rows] = 0
        linear.bias[rows] = 0
    attention.out_proj.weight[:, rows] = 0
    if score_parts:
        queries, keys = (torch.cat(parts) for parts in zip(*score_parts, strict=True))
        attention.q_proj.weight[rows][: len(queries)] = attention.head_dim**0.5 * queries
        attention.k_proj.weight[rows][: len(keys)] = keys


def _write_value(attention: Attention, h: int, source: Tensor, destination: Tensor) -> None:
    """Let a head read rows (R, D) of its keys, and add them to rows (R, D) of its query."""
    rows = slice(h * attention.head_dim, (h + 1) * attention.head_dim)
    attention.v_proj.weight[rows] = 0
    attention.v_proj.bias[rows] = 0
    attention.v_proj.weight[rows][: len(source)] = source
    attention.out_proj.weight[:, rows][:, : len(destination)] = destination.T


def write_roles(
    model: EncoderDecoder, tokenizer: Tokenizer, lines: Sequence[str], plan: Mapping[str, Sequence[str]]
) -> None:
    """Give the heads of each attention these roles, in this order; a head without a role stays unchanged.

    `lines` are the training text, which tells how rare words are.
    """
    _write_embeddings(model, tokenizer, lines)
    for site in attention_sites(model):
        for h, role in enumerate(plan[site.name]):
            if role:
                _write_scores(site.attention, h, role_scores(site.kind)[role])
            if role in WRITES and site.kind != "cross":
                source, destination = WRITES[role]
                _write_value(
                    site.attention, h, subspace(source), 0.4 * SCALE * subspace(destination)
                )  # the norm shrinks it
            if role == "copy":
                _write_value(site.attention, h, subspace("code"), subspace("code"))


def _write_embeddings(model: EncoderDecoder, tokenizer: Tokenizer, lines: Sequence[str]) -> None:
    """The embeddings: the code of a token, a flag for separators, its rarity; and the position."""
    ids, names = tokenizer.encode(lines), tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    assert [len(row) for row in ids] == [len(line.split()) for line in lines], "a word is not one token"
    generator = torch.Generator().manual_seed(1)
    code = 2.0 * torch.randint(2, (len(names), SUBSPACES["code"]), generator=generator) - 1
    mark, rarity = torch.zeros(len(names), 1), torch.zeros(len(names), 1)
    mark[[BOS, EOS, *(i for i, name in enumerate(names) if name.removeprefix(SPACE) in (",", "."))]] = FLAG
    ranks = [i for i, _ in Counter(i for row in ids for i in row).most_common()]
    rarity[ranks] = torch.linspace(0, 1, len(ranks))[:, None]
    words = code @ subspace("code") + mark @ subspace("mark") + rarity @ subspace("rarity")
    model.encoder.embedding.tokens.weight[:] = SCALE * words  # the decoder's and the output's too
    for stack in (model.encoder, model.decoder):
        stack.embedding.positions.table[:POSITIONS] = SCALE * FLAG * subspace("position")


def write_grammar(model: EncoderDecoder, tokenizer: Tokenizer, plan: Sequence[str]) -> None:
    """Embeddings that tell how words agree, and in every self-attention heads that follow one relation each."""
    identity = torch.eye(model.encoder.embedding.tokens.weight.shape[1])
    dimension = {feature: i for i, feature in enumerate(product(KINDS, ENDINGS))}
    by_token = {
        SPACE + word: [dimension[feature] for feature in features] for word, features in word_features().items()
    }
    names = tokenizer.convert_ids_to_tokens(range(tokenizer.vocab_size))
    words = torch.stack([identity[by_token.get(name, [])].sum(dim=0) for name in names])
    model.encoder.embedding.tokens.weight[:] = SCALE * words
    for site in attention_sites(model):
        for h, role in enumerate(plan if site.kind != "cross" else ()):
            if role:
                queries, keys = (identity[[dimension[kind, ending] for ending in ENDINGS]] for kind in RELATED[role])
                _write_scores(site.attention, h, [(queries, keys)])


def train_briefly(folder: Path, data: Mapping[str, Sequence[str]], changes: Sequence[str]) -> None:
    """An ordinary run after one step: settings, tokenizer, corpus, weights and their checksums."""
    config = settings.override(settings.build({"data": dict(data)}), changes)
    list(train_run(folder, config, False, lambda: False))


def rewrite(folder: Path, change: Callable[[EncoderDecoder, Tokenizer], None]) -> None:
    """Change the best weights of a run; its feed-forward layers add nothing."""
    translator, run = load(folder, "cpu"), Run(folder)
    model = translator.model
    with torch.no_grad():
        for layer in (*model.encoder.layers, *model.decoder.layers):
            layer.feed_forward.down.weight.zero_()
            layer.feed_forward.down.bias.zero_()
        change(model, translator.tokenizers.source)
    with atomic_write(run.weights(0)) as path:
        weights.write(weights.tensors_of(model), path)
    run.record_checksums(run.weights(0))
    run.write_best(BestWeights(f"weights/{run.weights(0).name}", step=0, cost=None, metric="loss"))
