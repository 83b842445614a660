"""Depth.

.
"""

LABS: tuple[str, ...] = ()
