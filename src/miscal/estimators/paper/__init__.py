"""The estimator of arXiv 2605.13484, to the letter: representation, grid of (sigma, lambda), field, correction."""
