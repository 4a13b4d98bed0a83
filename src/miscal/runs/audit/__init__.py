"""Audit a run: fit it again under nulls, with other seeds and thresholds, and resample its rows."""
