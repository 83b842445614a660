"""Where a state comes from: rollout, flow, attribution, norms, and sums that are exact."""
