"""Raw text.

Text without labels is nearly free, and what most models have learned from. What does it give a task that has a dozen
labeled sentences, and is it the words that help, or that they stand together?
"""

LABS: tuple[str, ...] = ("masked_pretraining_few_labels",)
