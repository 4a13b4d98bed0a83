"""Show the table of a column of a finished run."""
