"""Raw text.

.
"""

LABS: tuple[str, ...] = ()
