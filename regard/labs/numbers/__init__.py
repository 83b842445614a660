"""Numbers that flatter.

A score is a sentence about a model only together with how it was counted. These labs take the scores that courses and
reports print, an accuracy of 90%, a BLEU of 0.38, a mean over sentences, and ask what a model that has learned nothing
would have been given by the same count, and how far apart two scores must be before one is better.
"""

LABS: tuple[str, ...] = (
    "accuracy_counting_padding",
    "overfitting_or_not_learning",
    "mean_of_sentence_bleu",
    "bleu_test_set_size",
    "dead_model_never_stops",
    "label_smoothing_calibration",
)
