"""Model + Batch -> plain numbers. Never draws."""
