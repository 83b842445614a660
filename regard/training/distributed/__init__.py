"""Training with several processes: DDP and FSDP."""
