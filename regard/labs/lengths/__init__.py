"""Beyond the training length.

What a model does with longer texts than it was trained on.
"""

LABS: tuple[str, ...] = ()
