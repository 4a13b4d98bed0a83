"""What all rooms use and what knows nothing of calibration: errors, checks, arrays, folds, files, options, workers.

In: what users pass in, as it is; code that at least two rooms need.
Out: checked arrays, folders that are whole or not there, typed documents, finished cells.
"""
