"""The content of ``audit.json``, and its lines for a terminal."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from miscal.base.json_values import plain
from miscal.base.number_wording import percent, score
from miscal.base.shown import WIDTH, Shown, ShowsItself
from miscal.calibration.metrics import clipped
from miscal.evidence.bootstrap import SliceBootstrap
from miscal.evidence.null import NullStatistic
from miscal.evidence.power import Threshold
from miscal.evidence.stability import Stability
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
        """Return what it shows of itself: the question that its null answers, and its numbers."""
        title = f"Audit against the null {self.null!r}"
        return Shown(title, sentences=(self.null_question,), facts=tuple(_facts(self.to_dict())))


def audit_lines(found: Audit, run_dir: Path) -> list[str]:
    """Return the lines that are printed of an audit, which was written into `run_dir`."""
    facts = [*_facts(found.to_dict()), ("written to", str(run_dir / "audit.json"))]
    question = textwrap.wrap(f"{found.null}: {found.null_question}", WIDTH)
    return [*question, *(f"{about:<22}{text}" for about, text in facts)]


_OF_SEEDS = {
    "correlation": "correlation of the fields, over pairs",
    "sign_agreement": "share of rows with the same sign, over pairs",
    "field_std": "standard deviation of the field, over seeds",
    "gap": "worst-slice gap, at least 0, over seeds",
}


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Say what ``audit.json`` holds, each number beside what it is of."""
    if found["null_correlation"] is not None:
        yield "groups", f"under the null, too, outcomes of a group correlate by {score(found['null_correlation'])}"
    for name, one in found["nulls"].items():
        under = f"{_spread(one['mean'], one['std'])} under the null (p = {one['p_value']:.3f})"
        yield name.replace("_", " "), f"{score(one['observed'])}, {under}"
    for one in found["proxy_curves"]:
        proxies = one["proxies"]
        yield (
            "fit on the data" if one["draw"] < 0 else f"fit on draw {one['draw']}",
            f"proxy {one['proxy']:.4f} at epoch {one['epoch']} of {len(proxies)}, {proxies[0]:.4f} after the first",
        )
    seeds = found["seeds"]
    for name, words in _OF_SEEDS.items():
        yield "seeds", f"{words}: {_spread(**seeds[name])}"
    if n := seeds["n_undefined"]:
        of = f"{n} of {len(seeds['pairs'])} pairs of seeds"
        yield "seeds", f"{of} have a constant field, and no correlation: they are left out"
    for one in found["by_seed"]:
        yield f"seed {one['seed']}", f"field {score(one['delta_std'])}, {_slice(one)}"
    for one, other in zip(found["thresholds"], found["thresholds_by_brier"], strict=True):
        shares = f"over {percent(one['share_over'])}, under {percent(one['share_under'])}"
        yield f"epsilon {one['epsilon']}", f"{shares}; {_slice(one)}{_brier(one)}"
        # the slice that is worst by the Brier score only where it is another
        if other["worst"] != one["worst"]:
            yield "", f"by the Brier score: {_slice(other)}{_brier(other)}"
    bootstrap = found["bootstrap"]
    if bootstrap["worst"] is None:
        yield "bootstrap", "no regime with enough rows"
        return
    for name in ("gap", "share"):
        one = bootstrap[name]
        between = f"{score(one['mean'])} [{score(one['low'])}, {score(one['high'])}]"
        said = f"{score(one['value'])}; resampled {between}"
        yield "bootstrap", f"{name} of the worst slice, {bootstrap['worst']}: {said}"


def _spread(mean: float | None, std: float | None) -> str:
    """Say mean and standard deviation."""
    return "undefined" if mean is None else f"{score(mean)} +- {score(std)}"


def _slice(one: dict[str, Any]) -> str:
    """Say gap and size of the worst slice."""
    if one["worst"] is None:
        return "no regime with enough rows"
    gap = f"{score(one['gap'])} (clipped {score(one['gap_clipped'])})"
    return f"worst {one['worst']} ({percent(one['share_worst'])} of rows), gap {gap}"


def _brier(one: dict[str, Any]) -> str:
    return "" if one["worst"] is None else f", Brier gap {score(one['brier_gap'])}"
