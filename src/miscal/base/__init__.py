"""What every other room stands on: errors, checks at the border, arrays, folds, threads and files.

Nothing here knows what calibration is. What enters must serve at least two rooms above and import none of them.
"""
