"""What training costs, and settings that fit the corpus, the hardware and the time."""
