"""What comes in: triples (X, confidence, correct), and how files, logs of other tools and texts become them.

A new format is a reader, a log of another tool an importer, a way to make x an encoder. Nothing here fits a model of
confidence, and nothing here sees an outcome while it makes x.
"""
