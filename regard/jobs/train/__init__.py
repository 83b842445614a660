"""From files to a trained run."""
