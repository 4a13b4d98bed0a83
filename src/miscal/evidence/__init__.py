"""Checks of a discovered field: certificates on unseen rows, nulls, seeds, thresholds and intervals.

Each check takes arrays or functions and returns a frozen result; none of them trains a model itself.
"""
