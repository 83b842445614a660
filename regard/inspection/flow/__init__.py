"""Information flow through the layers: rollout, maximal flow, attribution, norms, and exact decompositions."""
