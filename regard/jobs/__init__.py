"""Whole commands as functions of a Run: where training, inspection and report meet."""
