"""The page of a comparison: the look of a run's report, drawn from one document."""
