"""The default estimator: a portfolio of logit shifts, stacked, and read out in a learned geometry.

In: rows to learn from; one module for each score.
Out: a fitted model that shifts confidences.
"""
