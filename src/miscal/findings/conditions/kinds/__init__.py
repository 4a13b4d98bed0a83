"""The kinds of conditions, one in each module.

A kind is a frozen dataclass that is a :class:`~miscal.findings.conditions.condition.Condition`. Its fields are what its
JSON holds: text, numbers, tuples of these, and other conditions (``Stored``).
"""
