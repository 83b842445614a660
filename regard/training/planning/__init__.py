"""What training costs, and settings that fit the corpus, the machine and the time."""
