"""Read files, folders and tables of one's own: one `Source` for each format, then the same steps for all.

In: parquet, csv, jsonl, databases, frames, folders of ``miscal score``, and which column plays which part.
Out: triples, new rows without outcome, or pieces of either; faults of rows are refused, dropped or told.
"""
