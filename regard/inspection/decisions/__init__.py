"""Why a classifier decides as it does: what each word contributes by several measures, and whether they agree."""
