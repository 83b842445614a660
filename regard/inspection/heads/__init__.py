"""What each head does: roles, statistics, importance, copying, alignment, faithfulness."""
