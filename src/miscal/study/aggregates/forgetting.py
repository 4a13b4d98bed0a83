"""For which pairs the learned space forgets what inputs are about and keeps how wrong the model is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from miscal.evidence.settings import SIGNIFICANCE

SIGN, OUTCOME = "sign", "outcome"
"""What neighbours may share besides metadata, as the table ``purity`` calls it."""

MARGIN = 2.0
"""Standard deviations, of both purities under permuted labels, by which a purity must change to be called changed."""


@dataclass(frozen=True)
class PurityChange:
    """Purity above chance in both spaces.

    Attributes
    ----------
    by : str
        What neighbours share.
    raw, learned : float
        (purity - null_mean) / (1 - null_mean): 0 at chance, 1 where all neighbours share it.
    margin : float
        Change on this scale that permuted labels seldom reach.
    p_learned : float
        p-value of the purity in the learned space.
    """

    by: str
    raw: float
    learned: float
    margin: float
    p_learned: float

    @property
    def falls(self) -> bool:
        """Whether it is lower in the learned space by more than the margin."""
        return self.learned < self.raw - self.margin

    @property
    def rises(self) -> bool:
        """Whether it is higher in the learned space by more than the margin, and there beyond chance."""
        return self.learned > self.raw + self.margin and self.p_learned <= SIGNIFICANCE


@dataclass(frozen=True)
class PairForgetting:
    """One pair.

    Attributes
    ----------
    pair, dataset, model : str
    category : PurityChange or None
        Of the first metadata column in the order of the plan, whatever its purity: one chosen for a high purity in
        the raw inputs would fall by regression to the mean alone. None without a metadata column.
    outcome : PurityChange or None
        Of the outcome, which neither space was made from; None where all outcomes are equal.
    sign : PurityChange or None
        Of the sign of delta, which the learned space has by construction; None where one sign is all there is.
    """

    pair: str
    dataset: str
    model: str
    category: PurityChange | None
    outcome: PurityChange | None
    sign: PurityChange | None

    @property
    def forgets(self) -> bool:
        """Whether purity by category falls from the raw to the learned space."""
        return self.category is not None and self.category.falls

    @property
    def keeps(self) -> bool:
        """Whether purity by outcome rises from the raw to the learned space."""
        return self.outcome is not None and self.outcome.rises


@dataclass(frozen=True)
class Forgetting:
    """Pairs whose spaces were compared.

    Attributes
    ----------
    pairs : tuple of PairForgetting
        In the order of the table.
    """

    pairs: tuple[PairForgetting, ...]

    @property
    def n_forget(self) -> int:
        """Pairs whose purity by category falls."""
        return sum(one.forgets for one in self.pairs)

    @property
    def n_keep(self) -> int:
        """Pairs whose purity by outcome rises."""
        return sum(one.keeps for one in self.pairs)

    @property
    def n_both(self) -> int:
        """Pairs of which both hold."""
        return sum(one.forgets and one.keeps for one in self.pairs)

    @property
    def sentence(self) -> str:
        """What was found, in plain English."""
        n = len(self.pairs)
        if n == 0:
            return "No pair was interpreted, so nothing is known of what the learned space forgets."
        return (
            f"From the raw inputs to the learned space, neighbours come to share their category less often in "
            f"{self.n_forget} of {n} interpreted pairs, and their outcome more often in {self.n_keep}; both hold in "
            f"{self.n_both}."
        )


def forgetting(purity: pl.DataFrame, method: str) -> Forgetting:
    """Compare the purities of the two spaces, pair by pair.

    A purity counts as changed where it moves by more than two standard deviations of what permuted labels give. This
    is a margin against noise, not a test of the difference.

    Parameters
    ----------
    purity : polars.DataFrame
        The table of this name; it may be empty.
    method : {"paper", "auto"}

    Examples
    --------
    >>> row = {"pair": "p", "dataset": "d", "model": "m", "method": "auto", "null_mean": 0.5, "null_std": 0.01}
    >>> rows = [row | {"space": space, "by": by, "purity": value, "p_value": 0.001}
    ...     for by, raw, learned in (("topic", 0.9, 0.6), ("outcome", 0.55, 0.7))
    ...     for space, value in (("raw", raw), ("learned", learned))]
    >>> found = forgetting(pl.DataFrame(rows), "auto")
    >>> round(found.pairs[0].category.learned, 3), found.n_forget, found.n_keep
    (0.2, 1, 1)
    """
    some = purity.filter(pl.col("method") == method)
    keys = some.select("pair", "dataset", "model").unique(maintain_order=True)
    return Forgetting(tuple(_of_pair(key, some.filter(pl.col("pair") == key["pair"])) for key in keys.to_dicts()))


def _of_pair(key: dict[str, str], rows: pl.DataFrame) -> PairForgetting:
    raw, learned = ({row["by"]: row for row in rows.filter(space=space).to_dicts()} for space in ("raw", "learned"))
    moved = {by: _purity_change(by, raw[by], learned[by]) for by in raw if by in learned}
    outcome, sign = (moved.pop(by, None) for by in (OUTCOME, SIGN))
    return PairForgetting(**key, category=next(iter(moved.values()), None), outcome=outcome, sign=sign)


def _purity_change(by: str, raw: dict[str, Any], learned: dict[str, Any]) -> PurityChange:
    room = 1 - raw["null_mean"]
    one, two = ((row["purity"] - row["null_mean"]) / room for row in (raw, learned))
    margin = MARGIN * math.hypot(raw["null_std"], learned["null_std"]) / room
    return PurityChange(by, one, two, margin, learned["p_value"])
