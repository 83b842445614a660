"""Other people's formats of trained models, written and read."""
