"""Many runs: a study that trains over a space of settings, a comparison of what was trained, and their pages."""
