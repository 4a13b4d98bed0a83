"""Estimators of the field E[Y - f | X = x], and honest values; no files, no tests of hypotheses.

In: inputs, confidences and outcomes of the rows to learn from.
Out: a fitted field, and its values at rows whose outcome it has not seen.
"""
