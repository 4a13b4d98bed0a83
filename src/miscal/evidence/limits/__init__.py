"""Lower limits of a certificate: how much miscalibration there is at least.

In: rows that nothing was learned from, with the sign of the field.
Out: a `Bound`; `NOTHING_CLAIMED` where the field claims nothing.
"""
