"""Language models: documents are read, held out, learned from, generated and scored in bits per byte."""
