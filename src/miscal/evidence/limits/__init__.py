"""Lower limits of a certificate, how much miscalibration there is at least.

A limit takes the rows that nothing was learned from and returns a :class:`~miscal.evidence.limits.agreement.Bound`,
`NOTHING_CLAIMED` where the field claims nothing.
"""
