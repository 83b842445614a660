"""A training as it goes on: what it shows of its model, and a page that is served on this machine alone."""
