"""Meaning, and looking at it.

.
"""

LABS: tuple[str, ...] = ()
