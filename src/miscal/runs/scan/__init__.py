"""Findings where the data live: counted there in cells, tested here, and checked by anybody who has the cells."""
