"""Studies: many models on many sets in one command, with the paper's tables and figures, and those beyond it."""
