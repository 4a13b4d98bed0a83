"""Tools whose files are not read, and what to do in place of that."""

REFUSED = {
    "lm-polygraph": (
        "LM-Polygraph saves pickles, which can run any program when they are opened, so they are not read: where the "
        "file is trusted, put its input texts, greedy texts, normalised confidences (1 is sure) and quality (0 or 1, "
        "as correct) into one table with prompt, response and a column for each confidence, save it by to_parquet, and "
        "name the columns: miscal import uqlm FILE --confidence-columns A,B"
    )
}
"""Name of the tool to a message of one line."""
