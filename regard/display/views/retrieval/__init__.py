"""What `regard index` and `regard search` print."""
