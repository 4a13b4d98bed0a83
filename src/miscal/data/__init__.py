"""Files, frames, logs of other tools and texts become triples; nothing here models the confidence.

In: what users have, wherever it lies.
Out: `Triples` (inputs, confidence, correct) with units, weights and metadata, or a table of them.
"""
