"""The local correction of the probabilities of several classes, which stays on the simplex.

In: probabilities of all classes, labels and inputs.
Out: a fitted correction: a global map, and shifts by the inputs where these are proven to help.
"""
