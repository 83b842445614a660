"""Many runs: studies over a space of settings, comparisons, and their pages."""
