"""The estimator of arXiv 2605.13484, as published: representation, grid of (sigma, lambda), field.

In: rows to learn from, and validation rows to choose by.
Out: a fitted field and correction.
"""
