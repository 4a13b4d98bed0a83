"""The estimator of arXiv 2605.13484: representation, grid of (sigma, lambda), field and correction."""
