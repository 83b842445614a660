EXPECTED: dict[str, tuple[str, str]] = {
    "word_sense_disambiguation": ("holds partly", "slow"),
    "attention_as_explanation": ("holds partly", "slow"),
    "attention_weight_vs_contribution": ("holds", "slow"),
    "position_vs_content_attention": ("holds", "slow"),
    "attention_maps_of_two_trainings": ("does not hold", "slow"),
    "shortcut_keyword": ("holds", "slow"),
}
