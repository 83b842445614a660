"""The kinds of findings in labeled text, in the order in which they are reported."""

from types import MappingProxyType

from regard.data.doctor import Action, FindingKind

_REFUSED = (
    FindingKind(
        "single_class",
        Action.REFUSED,
        "one class only",
        "Every text has the same label, so there is nothing to tell apart.",
        "add texts of other classes, or check which column the label is",
        unit="classes",
        droppable=False,
    ),
    FindingKind(
        "unseen_class",
        Action.REFUSED,
        "classes that train does not have",
        "A class that no training text has can never be predicted: every text of it is an error.",
        "add such texts to train, remove the class, or correct its spelling",
        applies_to_held_out=True,
        unit="classes",
        droppable=False,
    ),
)

_DROPPED = (
    FindingKind(
        "blank",
        Action.DROPPED,
        "an empty text",
        "There is nothing to classify.",
        "fill in the text, or remove the row",
        applies_to_held_out=True,
        unit="texts",
    ),
    FindingKind(
        "unlabeled",
        Action.DROPPED,
        "no label",
        "There is nothing to learn, and nothing to compare a prediction with.",
        "label the text, or remove the row",
        applies_to_held_out=True,
        unit="texts",
    ),
    FindingKind(
        "overlap",
        Action.DROPPED,
        "text occurs in train and in dev or test",
        "A text that was trained on is no test: its score measures memorization. Texts are compared without case, "
        "blanks and compatibility forms (Unicode NFKC). They are dropped from train; dev and test stay as they are.",
        "remove these texts from one of the files",
        unit="texts",
    ),
)

_NOTED = (
    FindingKind(
        "part",
        Action.NOTED,
        "text is a part of a longer training text",
        "The model has seen every word of it in its context, probably with the same label: scores on such texts are "
        "far higher than on new ones. Texts of fewer than three words are not counted.",
        "leave this file out, so that `regard train` holds out whole groups; or hold out whole documents or sentences, "
        "with all their parts",
        unit="texts",
        droppable=False,
    ),
    FindingKind(
        "similar_classes",
        Action.NOTED,
        "classes whose names differ in case or blanks only",
        "“Spam” and “spam ” are two classes to a program, and one to a person.",
        "write the name in one way",
        unit="classes",
        droppable=False,
    ),
    FindingKind(
        "tiny_class",
        Action.NOTED,
        "classes with fewer than five texts",
        "So few texts hardly teach a class, and its score on a test set is chance.",
        "add texts, or join the class with another",
        unit="classes",
        droppable=False,
    ),
    FindingKind(
        "missing_class",
        Action.NOTED,
        "classes of train that are missing",
        "How well these classes are predicted is not measured.",
        "",
        unit="classes",
        droppable=False,
    ),
    FindingKind(
        "dominant_class",
        Action.NOTED,
        "texts of one class outnumber all others by far",
        "A model that always predicts this class already has a high accuracy: compare macro-F1, and weigh the classes.",
        "add texts of other classes",
        unit="texts",
        droppable=False,
    ),
    FindingKind(
        "broken_tags",
        Action.NOTED,
        "tags that break their scheme",
        "A span that begins in the middle, such as I-PER after O, has no defined beginning; scores differ by how it is "
        "read.",
        "correct the tags",
        unit="texts",
    ),
    FindingKind(
        "contradiction",
        Action.NOTED,
        "text with other labels earlier",
        "The same text has two answers: no model can predict both. Among the commonest annotation errors.",
        "choose one label, or remove the text",
        unit="texts",
    ),
    FindingKind(
        "duplicate",
        Action.NOTED,
        "the same text and labels as an earlier one",
        "A repeated text counts twice; held out from one file, its copies would stand on both sides.",
        "remove all but the first",
        unit="texts",
    ),
)

LABEL_KINDS = MappingProxyType({kind.name: kind for kind in (*_REFUSED, *_DROPPED, *_NOTED)})
