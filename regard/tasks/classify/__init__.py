"""Classification: a text, or a pair of texts -> a label, or several."""
