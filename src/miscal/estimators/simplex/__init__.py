"""The local correction of the probabilities of several classes, which stays on the simplex.

:func:`~miscal.estimators.simplex.correction.fit_simplex` fits it; the ways in which log-probabilities are shifted by
the inputs are a file each.
"""
