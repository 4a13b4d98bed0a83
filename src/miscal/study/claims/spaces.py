"""Claims on what neighbours share in the learned space."""

from __future__ import annotations

from miscal.study.claims.claim import NONE, Claim, Tables, in_most
from miscal.study.numbers.forgetting import forgetting
from miscal.study.verdict import of_pairs

_NO_NUMBERS = "a figure without numbers"


def purity(tables: Tables, method: str) -> list[Claim]:
    """Whether the learned space forgets the category and keeps the sign."""
    found = forgetting(tables["purity"], method).pairs
    signs = [one.sign.learned > one.sign.raw for one in found if one.sign is not None]
    forgotten = [one.forgets for one in found if one.category is not None]
    sides = (
        ("Neighbours share the sign of the field more often in the learned space than in raw inputs.", signs, NONE,
         "It has no direction: the learned space is arranged by the field, so that this holds by construction."),
        ("Neighbours share their category less often in the learned space than in raw inputs.", forgotten,
         in_most(sum(forgotten), len(forgotten)),
         "This holds in more than half of the interpreted pairs, by a sign test at 5 %."),
    )  # fmt: skip
    return [
        Claim("layouts", "figure 15", says, _NO_NUMBERS, of_pairs(sum(holds), len(holds)), len(holds), meaning, *told)
        for says, holds, told, meaning in sides if holds
    ]  # fmt: skip
