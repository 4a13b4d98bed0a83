"""Regimes and parts are called confirmed in what they hide only where the claim of the run says that something is.

The certificate is tested first; its parts are tested only if it rejects (Westfall and Krishen, 2001). So a page never
says that nothing was confirmed beside a part of which it says the opposite.
"""

from collections.abc import Iterable
from typing import TypeVar

from miscal.discovery.summary import Regime
from miscal.evidence.claim import Claim
from miscal.findings import Subregime

Region = TypeVar("Region", Regime, Subregime)


def gated_regimes(regimes: Iterable[Regime], claim: Claim) -> tuple[Regime, ...]:
    """Return regimes of which the hidden part is confirmed only if the claim is located."""
    return tuple(one if claim.located else _without_hidden(one, "confirmed") for one in regimes)


def gated_parts(parts: Iterable[Subregime], claim: Claim) -> tuple[Subregime, ...]:
    """Return parts of which the hidden part is confirmed only if the claim is located."""
    if claim.located:
        return tuple(parts)
    gated = (_without_hidden(one, "confirmed_parts") for one in parts)
    # a part of the hidden field's regimes is confirmed as a whole by what it hides
    return tuple(one.model_copy(update={"confirmed": False}) if one.field == "hidden" else one for one in gated)


def _without_hidden(region: Region, name: str) -> Region:
    return region.model_copy(update={name: getattr(region, name).model_copy(update={"hidden": False})})
