"""Estimators of the miscalibration field delta(x) = E[Y - f | X = x], behind one protocol, and their honest values.

A new estimator is a module that meets :mod:`miscal.estimators.registry` and a line in
:mod:`miscal.estimators.registry`. Nothing here reads files or tests hypotheses.
"""
