"""Runs beside each other: rows are matched (``rows``), differences estimated (``estimates``, ``groups``) and worded."""
