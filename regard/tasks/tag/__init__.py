"""Tagging: the words of a sentence -> a tag for each, such as the entity it is part of or its part of speech."""
