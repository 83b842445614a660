"""Far and fast.

.
"""

LABS: tuple[str, ...] = ()
