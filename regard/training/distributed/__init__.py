"""Several processes that train together: DDP and FSDP."""
