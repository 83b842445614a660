"""Search in documents of your own."""
