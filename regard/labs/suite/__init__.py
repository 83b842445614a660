"""The laboratory as a whole: labs run in worker processes, predictions, records, the page, notebooks, new files."""
