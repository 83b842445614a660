"""Numbers that flatter.

.
"""

LABS: tuple[str, ...] = ()
