EXPECTED: dict[str, tuple[str, str]] = {
    "accuracy_counting_padding": ("holds partly", "fast"),
    "overfitting_or_not_learning": ("holds partly", "fast"),
    "mean_of_sentence_bleu": ("does not hold", "fast"),
    "bleu_test_set_size": ("holds partly", "slow"),
    "dead_model_never_stops": ("holds", "fast"),
    "label_smoothing_calibration": ("holds", "slow"),
}
