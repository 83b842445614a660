"""The shortlist of a run: counted from pairs, tried on dev, and used where it changes next to nothing."""
