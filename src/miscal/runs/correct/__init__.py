"""Correct new rows, any number of them, piece by piece; a command that was stopped goes on.

In: a saved model, and rows without outcomes.
Out: a table of corrected confidences, and counts of what could not be corrected.
"""
