"""Errors, checks of what users pass in, arrays, folds, threads and files, which all other packages use.

Nothing here knows what calibration is. What enters must serve at least two rooms above and import none of them.
"""
