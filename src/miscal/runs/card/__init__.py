"""The card of a run for a committee, on two pages.

In: a finished run.
Out: what was assessed and how right the probabilities are, as a `Sheet`.
"""
