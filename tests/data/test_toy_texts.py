"""Toy texts have one right answer, which their words give."""

import torch

from regard.data.toy_tasks import (
    IGNORED,
    SentimentWords,
    TopicWords,
    charged_words,
    mask_tokens,
    pseudowords,
    shuffle_between_texts,
    topic_texts,
)

SENTIMENT, TOPICS = SentimentWords(charged=5, neutral=7), TopicWords(topical=5, neutral=7)


def labels_by_words(ids):
    """The label of a text from its charged word and what stands before it."""
    row = torch.arange(len(ids))
    places = SENTIMENT.is_charged(ids).int().argmax(dim=1)
    positive = ids[row, places] >= 5 + SENTIMENT.charged
    return (positive ^ (ids[row, places - 1] == SENTIMENT.negation)).long()


def test_the_label_follows_from_the_charged_word_and_its_negation():
    torch.manual_seed(1)
    for keyword in (0.0, 0.7):
        ids, labels = charged_words(211, 11, SENTIMENT, keyword)
        assert ids.shape == (211, 11) and (ids[:, 0] == SENTIMENT.first).all()
        assert (SENTIMENT.is_charged(ids).sum(dim=1) == 1).all()
        assert (labels_by_words(ids) == labels).all()
        assert 0.15 < (ids == SENTIMENT.negation).any(dim=1).float().mean() < 0.35
        assert int(ids.max()) < SENTIMENT.vocab_size


def test_a_keyword_is_in_every_text_and_right_as_often_as_wanted():
    torch.manual_seed(1)
    for wanted in (0.5, 1.0):
        ids, labels = charged_words(1009, 7, SENTIMENT, keyword=wanted)
        shown = ids == torch.tensor(SENTIMENT.keywords)[labels][:, None]
        other = ids == torch.tensor(SENTIMENT.keywords)[1 - labels][:, None]
        assert ((shown | other).sum(dim=1) == 1).all()
        assert abs(shown.any(dim=1).float().mean() - (wanted + (1 - wanted) / 2)) < 0.05


def test_a_text_holds_no_word_of_the_other_topic():
    torch.manual_seed(1)
    ids, labels = topic_texts(101, 13, TOPICS)
    first = (ids >= 4) & (ids < 4 + TOPICS.topical)
    second = (ids >= 4 + TOPICS.topical) & (ids < 4 + 2 * TOPICS.topical)
    assert not first[labels == 1].any() and not second[labels == 0].any()
    assert first.any() and second.any() and int(ids.max()) < TOPICS.vocab_size


def test_the_pseudoword_is_there_once_and_has_both_senses():
    torch.manual_seed(1)
    (ids, senses), positions = pseudowords(101, 7, TOPICS)
    assert ((ids == TOPICS.pseudoword).sum(dim=1) == 1).all()
    assert (ids[torch.arange(101), positions] == TOPICS.pseudoword).all()
    assert set(senses.tolist()) == {0, 1}


def test_masked_tokens_are_the_targets_and_the_first_is_never_one():
    torch.manual_seed(1)
    ids, _ = topic_texts(101, 5, TOPICS)
    masked, targets = mask_tokens(ids, TOPICS.mask, share=0.2)
    hidden = masked == TOPICS.mask
    assert (targets[hidden] == ids[hidden]).all() and (targets[~hidden] == IGNORED).all()
    assert (masked[~hidden] == ids[~hidden]).all()
    assert hidden.any(dim=1).all() and not hidden[:, 0].any()


def test_shuffled_texts_have_the_same_words_in_other_company():
    torch.manual_seed(1)
    ids, _ = topic_texts(101, 13, TOPICS)
    shuffled = shuffle_between_texts(ids)
    assert (shuffled[:, 0] == TOPICS.first).all()
    assert (shuffled.flatten().sort().values == ids.flatten().sort().values).all()
    assert (shuffled.sort(dim=1).values != ids.sort(dim=1).values).any(dim=1).float().mean() > 0.9
