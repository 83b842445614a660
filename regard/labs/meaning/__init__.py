"""Meaning and looking.

A model puts vectors and weights on the screen, and both look as if they meant something. These labs ask when a vector
knows which sense of a word is meant, and how far a weight is a reason: what an answer rests on is measured by taking it
away, and compared with what a picture of attention would have said.
"""

LABS: tuple[str, ...] = (
    "word_sense_disambiguation",
    "attention_as_explanation",
    "attention_weight_vs_contribution",
    "position_vs_content_attention",
    "attention_maps_of_two_trainings",
    "shortcut_keyword",
)
