"""Results as lines for people: the answer first, then the table, then how it was measured."""
