"""Order.

Attention has no order of its own.
"""

LABS: tuple[str, ...] = ()
