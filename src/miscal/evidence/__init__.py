"""What rows that nothing was learned from prove about a field; nothing here trains.

In: `LabelledRows` or arrays.
Out: certificates, limits, intervals, nulls and power, as frozen results.
"""
