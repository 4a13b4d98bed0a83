"""Write what an audit found as lines for a terminal."""

import textwrap
from pathlib import Path

from miscal.base.number_wording import percent, score
from miscal.base.shown import Shown
from miscal.base.terminal import WIDTH


def audit_lines(found: dict, run_dir: Path) -> list[str]:
    """Say what the audit found.

    Parameters
    ----------
    found : dict
        The content of ``audit.json``.
    run_dir : Path
        Where it lies.

    Returns
    -------
    list of str
        Lines to print.
    """
    facts = [*audit_facts(found), ("written to", str(run_dir / "audit.json"))]
    return [
        *textwrap.wrap(f"{found['null']}: {found['null_question']}", WIDTH),
        *(f"{about:<22}{text}" for about, text in facts),
    ]


def audit_facts(found: dict) -> list[tuple[str, str]]:
    """Say what the audit found, each number beside what it is of."""
    return [
        *_groups(found["null_correlation"]),
        *_nulls(found["nulls"]),
        *_training(found["proxy_curves"]),
        *_seeds(found["seeds"], found["by_seed"]),
        *_thresholds(found["thresholds"], found["thresholds_by_brier"]),
        *_bootstrap(found["bootstrap"]),
    ]


def shown_audit(found: dict) -> Shown:
    """Return what an audit shows of itself: the question that its null answers, and its numbers."""
    return Shown(
        title=f"Audit against the null {found['null']!r}",
        sentences=(found["null_question"],),
        facts=tuple(audit_facts(found)),
    )


def _spread(mean: float | None, std: float | None) -> str:
    """Say mean and standard deviation."""
    return "undefined" if mean is None else f"{score(mean)} +- {score(std)}"


def _groups(correlation: float | None) -> list[tuple[str, str]]:
    """Say how the null treats named groups."""
    if correlation is None:
        return []
    return [("groups", f"under the null, too, outcomes of a group correlate by {score(correlation)}")]


def _nulls(nulls: dict) -> list[tuple[str, str]]:
    return [
        (
            name.replace("_", " "),
            f"{score(one['observed'])}, {_spread(one['mean'], one['std'])} under the null (p = {one['p_value']:.3f})",
        )
        for name, one in nulls.items()
    ]


def _training(curves: list[dict]) -> list[tuple[str, str]]:
    return [
        (
            "fit on the data" if one["draw"] < 0 else f"fit on draw {one['draw']}",
            f"proxy {one['proxy']:.4f} at epoch {one['epoch']} of {len(one['proxies'])}, {one['proxies'][0]:.4f} after "
            "the first",
        )
        for one in curves
    ]


def _seeds(agreement: dict, by_seed: list[dict]) -> list[tuple[str, str]]:
    phrases = {
        "correlation": "correlation of the fields, over pairs",
        "sign_agreement": "share of rows with the same sign, over pairs",
        "field_std": "standard deviation of the field, over seeds",
        "gap": "worst-slice gap, at least 0, over seeds",
    }
    n, of = agreement["n_undefined"], len(agreement["pairs"])
    constant = f"{n} of {of} pairs of seeds have a constant field, and no correlation: they are left out"
    return [
        *(("seeds", f"{words}: {_spread(**agreement[name])}") for name, words in phrases.items()),
        *([("seeds", constant)] if n else []),
        *((f"seed {one['seed']}", f"field {score(one['delta_std'])}, {_slice(one)}") for one in by_seed),
    ]


def _slice(one: dict) -> str:
    """Say gap and size of the worst slice."""
    if one["worst"] is None:
        return "no regime with enough rows"
    gap = f"{score(one['gap'])} (clipped {score(one['gap_clipped'])})"
    return f"worst {one['worst']} ({percent(one['share_worst'])} of rows), gap {gap}"


def _thresholds(by_smece: list[dict], by_brier: list[dict]) -> list[tuple[str, str]]:
    """Say the regimes at each epsilon; the slice that is worst by the Brier score only where it is another."""
    lines = []
    for one, other in zip(by_smece, by_brier, strict=True):
        shares = f"over {percent(one['share_over'])}, under {percent(one['share_under'])}"
        lines.append((f"epsilon {one['epsilon']}", f"{shares}; {_slice(one)}{_brier(one)}"))
        if other["worst"] != one["worst"]:
            lines.append(("", f"by the Brier score: {_slice(other)}{_brier(other)}"))
    return lines


def _brier(one: dict) -> str:
    return "" if one["worst"] is None else f", Brier gap {score(one['brier_gap'])}"


def _bootstrap(found: dict) -> list[tuple[str, str]]:
    if found["worst"] is None:
        return [("bootstrap", "no regime with enough rows")]
    return [
        ("bootstrap", f"{name} of the worst slice, {found['worst']}: {_replicates(found[name])}")
        for name in ("gap", "share")
    ]


def _replicates(one: dict) -> str:
    return f"{score(one['value'])}; resampled {score(one['mean'])} [{score(one['low'])}, {score(one['high'])}]"
