"""Lower limits of a certificate, how much miscalibration there is at least.

A limit takes the rows that nothing was learned from and returns a :class:`~miscal.evidence.limits.agreement.Bound`,
`NOTHING_CLAIMED` where the field claims nothing.
"""

from miscal.evidence.limits.agreement import NOTHING_CLAIMED, Bound, agreement_bound
from miscal.evidence.limits.covariance import covariance_bound

__all__ = ["NOTHING_CLAIMED", "Bound", "agreement_bound", "covariance_bound"]
