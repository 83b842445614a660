"""Denoising: a text of which parts are hidden -> the whole text, or these parts, by an encoder-decoder."""
