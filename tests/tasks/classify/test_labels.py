"""Labels and what is known of them before a text is read."""

import json
import math
from collections import Counter
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.files import parse_json
from regard.tasks.classify.labels import LabelSet
from regard.tasks.label_statistics import balance_classes

ONE_EACH = [("spam",), ("ham",), ("spam",), ("eggs",), ("spam",)]
SEVERAL = [("a", "c"), (), ("b",), ("c",), ("a", "b", "c"), ("c",), ("c",)]


@pytest.mark.parametrize("examples", [ONE_EACH, SEVERAL])
def test_labels_depend_on_no_order_and_are_read_as_they_were_written(examples):
    labels = LabelSet.of(examples)
    assert labels == LabelSet.of(reversed(examples))
    assert list(labels.labels) == sorted({label for row in examples for label in row})
    assert dict(zip(labels.labels, labels.counts, strict=True)) == Counter(label for row in examples for label in row)
    assert labels.multi_label == (examples is SEVERAL) and labels.num_texts == len(examples)
    assert parse_json(json.dumps(asdict(labels)), LabelSet) == labels


@pytest.mark.parametrize("examples", [ONE_EACH, SEVERAL])
def test_what_is_encoded_is_decoded_and_stacked(examples):
    labels = LabelSet.of(examples)
    rows = [labels.encode(row) for row in examples]
    assert [labels.decode(row) for row in rows] == [tuple(sorted(row)) for row in examples]
    targets = labels.stack_targets(rows)
    if examples is ONE_EACH:
        assert [labels.labels[i] for i in targets.tolist()] == [row[0] for row in examples]
    else:
        assert [[i for i, yes in enumerate(row) if yes] for row in targets.tolist()] == rows


def test_the_entropy_is_the_loss_of_predicting_the_frequencies():
    labels = LabelSet.of(ONE_EACH)
    log_probs = (torch.tensor(labels.counts) / len(ONE_EACH)).log().expand(len(ONE_EACH), -1)
    expected = F.nll_loss(log_probs, labels.stack_targets([labels.encode(row) for row in ONE_EACH]))
    assert labels.entropy == pytest.approx(float(expected))
    several = LabelSet.of(SEVERAL)
    targets = several.stack_targets([several.encode(row) for row in SEVERAL]).double()
    frequencies = targets.mean(0).expand_as(targets)
    expected = F.binary_cross_entropy(frequencies, targets, reduction="sum") / len(SEVERAL)
    assert several.entropy == pytest.approx(float(expected))
    assert LabelSet(("a", "b", "c"), (7, 7, 7), 21).entropy == pytest.approx(math.log(3))
    assert LabelSet(("a", "b"), (7, 0), 7).entropy == 0


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=11))
def test_weights_make_classes_alike_up_to_a_limit(counts: list[int]):
    weights = balance_classes(counts)
    for count, weight in zip(counts, weights, strict=True):
        assert weight * count == pytest.approx(min(sum(counts) / len(counts), 10 * count)) and weight <= 10


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([("x",), ("x",)], "all texts of the training data have the label 'x'; expected at least two"),
        ([(), ()], "no text of the training data has a label"),
        ([], "no text of the training data has a label"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(examples, message):
    with pytest.raises(DataError, match=message):
        LabelSet.of(examples)


def test_unknown_labels_are_named_with_the_known_ones():
    labels = LabelSet.of([(f"k{i}",) for i in range(9)])
    with pytest.raises(DataError, match=r"the label 'new' .* has k0, k1, k2, k3, k4, k5, k6 and 2 more; correct it"):
        labels.encode(["new"])
    for several in ([], ["k1", "k2"]):
        with pytest.raises(DataError, match=f"a text has {len(several)} labels"):
            labels.encode(several)
    for damage in ({"labels": ("b", "a")}, {"labels": ("a", "a")}, {"labels": ("a",)}):
        with pytest.raises(ValueError, match="alphabetical order"):
            replace(LabelSet(("a", "b"), (3, 2), 5), **damage)
        with pytest.raises(ValueError, match="alphabetical order"):
            parse_json(json.dumps({**asdict(LabelSet(("a", "b"), (3, 2), 5)), **damage}), LabelSet)
