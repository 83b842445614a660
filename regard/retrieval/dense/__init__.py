"""Dense search: vectors of passages, on disk, and the nearest of them."""
