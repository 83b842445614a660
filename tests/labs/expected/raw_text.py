EXPECTED: dict[str, tuple[str, str]] = {"masked_pretraining_few_labels": ("holds", "slow")}
