"""The card of a run for a committee: what was assessed, how right the probabilities are, and where not."""
