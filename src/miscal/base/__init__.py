"""What all rooms use: errors, checks, arrays, folds, files, options, workers, and the words for a kind of probability.

In: what users pass in, as it is; code that at least two rooms need.
Out: checked arrays, folders that are whole or not there, typed documents, finished cells.
"""
