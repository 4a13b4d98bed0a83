"""Lower limits of a certificate, how much miscalibration there is at least.

A limit is a function that meets :class:`~miscal.evidence.limits.protocol.Limit`: it takes the rows that nothing was
learned from and returns a :class:`~miscal.evidence.limits.protocol.Bound`. To add one, write it in a file of its own in
this folder and name it in `LIMITS`; ``EvidenceSettings(hidden_limit="name")`` (or ``total_limit``) then uses it.
"""

from miscal.evidence.limits.agreement import agreement_bound
from miscal.evidence.limits.covariance import covariance_bound
from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound, Limit

LIMITS: dict[str, Limit] = {
    "agreement": agreement_bound,
    "covariance": covariance_bound,
}
"""Every limit by the name that the settings call it."""

__all__ = ["LIMITS", "NOTHING_CLAIMED", "Bound", "Limit"]
