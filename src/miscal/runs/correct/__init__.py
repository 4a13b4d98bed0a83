"""Corrections of new rows, any number of them: piece by piece, resumable, on one machine or many."""
