"""The content of ``audit.json``."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from miscal.base.json_values import plain
from miscal.base.shown import Shown, ShowsItself
from miscal.calibration.metrics import clipped
from miscal.evidence.bootstrap import SliceBootstrap
from miscal.evidence.null import NullStatistic
from miscal.evidence.stability import Stability
from miscal.evidence.thresholds import Threshold
from miscal.runs.audit.refits import ProxyCurve, SeedField


@dataclass(frozen=True, repr=False)
class Audit(ShowsItself):
    """What an audit found; every number is of the evaluation rows: the test rows, or all.

    Attributes
    ----------
    null : str
        Which null the refits were drawn from.
    null_question : str
        The question that its p-values answer.
    null_correlation : float or None
        Intra-class correlation of the outcomes of a group that the refits were drawn with, as estimated given the
        confidence from all rows; None where no group of more than one row is named.
    nulls : dict of str to NullStatistic
        ``delta_std``, ``std_hidden``, ``share_miscalibrated``, ``gap`` (0 where neither regime has enough rows) and
        ``gap_clipped`` (0 where the gap is below 0), observed and null.
    proxy_curves : tuple of ProxyCurve
        Of the fit on the data and of those under the null: the chosen epoch, and the proxy after each epoch. Empty
        where the method has no proxy, or each fold chooses by its own.
    seeds : Stability
        Agreement of the fields of several seeds on the same split (of all rows: on folds that each seed deals), and
        the spread of their clipped gaps.
    by_seed : tuple of SeedField
        What each of these seeds found.
    thresholds : tuple of Threshold
        The run's field, cut at several epsilons; the worst slice has the larger smECE.
    thresholds_by_brier : tuple of Threshold
        The same, where the worst slice has the larger Brier score.
    bootstrap : SliceBootstrap
        The worst slice of the run's field, over resampled rows.
    """

    null: str
    null_question: str
    null_correlation: float | None
    nulls: dict[str, NullStatistic]
    proxy_curves: tuple[ProxyCurve, ...]
    seeds: Stability
    by_seed: tuple[SeedField, ...]
    thresholds: tuple[Threshold, ...]
    thresholds_by_brier: tuple[Threshold, ...]
    bootstrap: SliceBootstrap

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``audit.json``: plain numbers, null where undefined; thresholds with clipped gaps."""
        content = asdict(self)
        for name in ("thresholds", "thresholds_by_brier"):
            content[name] = [{**one, "gap_clipped": clipped(one["gap"])} for one in content[name]]
        return plain(content)

    def to_json(self) -> str:
        """Return the text of ``audit.json``."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def shown(self) -> Shown:
        """Return what it shows of itself in a notebook and on a terminal."""
        from miscal.runs.audit.wording import shown_audit

        return shown_audit(self.to_dict())
