"""Read files, logs of other tools and texts into triples (X, confidence, correct).

A new file format enters as a reader, the logs of another tool as an importer, another way to make x as an encoder: one
file each. Nothing here fits a model of confidence, and no encoder sees an outcome.
"""
