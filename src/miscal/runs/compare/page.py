"""The page of a comparison: its numbers arranged, and drawn."""

from pathlib import Path
from typing import Any

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.report import formatting
from miscal.report.drawing import LINEAR_AXES, ProbabilityAxes, Scale, log_odds_axes, round_ticks
from miscal.report.formatting import DASH, USUAL, bounds, count, decimals_for, metric, percent, points
from miscal.report.frame import render_page
from miscal.report.groups import Curves, Group, drawn_curves
from miscal.report.opening import opening
from miscal.report.panels.groups import forest_axis
from miscal.report.panels.verdict import lower_end
from miscal.report.source import printable
from miscal.report.texts import begin, listed, short
from miscal.runs.compare.document import ComparedRuns, GroupPair, GroupSide, RunNumbers, answer_of, named_groups

STYLES = ("base.css", "tables.css", "figures.css", "answer.css", "print.css", "compare.css")
PROGRAMS = ("folds.js",)
SHOWN = 3
"""Groups in the picture that opens the page."""
COLOURS = ("g1", "g2")

PARTS = {
    "differences": "Where they differ",
    "findings": "Findings side by side",
    "numbers": "Numbers",
    "reliability": "Reliability",
    "fields": "Correlation of the fields",
}
"""Sections, in their order."""

LABELS = {
    "calibration_error": "Calibration error: Brier score that recalibration would save",
    "residual": "Mean residual: {rate} minus {probability}",
    "smece": "smECE",
    "accuracy": "{rate}",
    "confidence": "{probability}",
    "brier": "Brier score",
    "log_loss": "Log loss",
    "corrected_log_loss": "Log loss, corrected",
}
IN_PERCENT = ("accuracy", "confidence")
MAX_GROUPS = 15
"""Groups shown of both ledgers; the document has the rest."""
HEIGHTS = {"a": 10.0, "b": 24.0}
LEFT, RIGHT = 8.0, 252.0
LEAST_SPAN = 0.1
"""Half-width of the axis of hidden residuals at least, so that small differences do not look large."""

GLOSSARY = (
    ("Residual", "{residual} Where its mean is negative, {judged} {over}."),
    (
        "Hidden residual",
        "The outcome minus the {rate} to be expected at its {probability}, learned from other rows of the same run. "
        "Where it is negative, {in_group} less often {than}, which no reliability diagram shows.",
    ),
    (
        "Calibration error",
        "The average square of the distance between the {probability} and the {rate} to be expected at it. By as much "
        "a perfect recalibration, one that sees nothing but the {probability}, would lower the Brier score.",
    ),
    (
        "Better",
        "Less calibration error or log loss, beyond chance; of the mean residual, nearer to 0. "
        "The run to take is the one with the lower log loss once both are corrected.",
    ),
    (
        "p, adjusted",
        "The probability that chance alone would show such a difference, times the number of groups tested (with four "
        "fifths of the error for values of columns). It counts every group that was tested, because those listed were "
        "chosen by the same outcomes.",
    ),
    (
        "Intervals",
        "At 95 %, and of one group at a time: they do not allow for the choice of the groups. Where both runs have the "
        "same rows, those of differences are paired.",
    ),
    (
        "Field",
        "The residual to be expected at a given input, estimated from similar inputs. Its hidden part is what the "
        "{probability} alone does not give.",
    ),
    (
        "What rests on what",
        "The correlation of the fields and the corrected log loss come from fits that did not see the row, "
        "but many rows share a fit: their intervals are those of these fits, and say nothing of others. Everything "
        "else comes from outcomes and {probabilities}, and from the {rate} expected at a {probability}.",
    ),
)


def build(comparison: ComparedRuns) -> str:
    """Return the page of a comparison: one HTML file without outside resource, always the same text."""
    shown = printable(comparison)
    terms, decimals = vocabulary(shown.kind), decimals_for(shown.epsilon)
    fills = {name: getattr(terms, name) for name in ("probability", "probabilities", "rate", "judged", "over")}
    fills |= {"in_group": terms.in_rows("a group", one=True), "than": terms.than_equal_rows()}
    fills |= {"residual": terms.meanings["residual"]}
    return render_page(
        "compare.html",
        STYLES,
        PROGRAMS,
        folder=Path(__file__).parent,
        **opening(answer_of(shown)),
        curves=_curves(shown),
        rows=(rows := _rows(shown)),
        where="All rows"
        if not named_groups(shown)
        else PARTS["differences"]
        if shown.differences
        else "Where both fail",
        along=forest_axis(rows),
        title=listed([shown.a, shown.b], "and"),
        pair=shown,
        **_arranged(shown, terms, decimals),
        runs=[_run(run) for run in shown.runs],
        parts={name: title for name, title in PARTS.items() if name != "fields" or shown.fields},
        glossary=[(word, meaning.format(**fills)) for word, meaning in GLOSSARY],
        terms=terms,
        decimals=decimals,
        digits=decimals if terms.digits else 0,
        version=shown.versions.get("miscal"),
    )


def _curves(pair: ComparedRuns) -> Curves | None:
    """Draw the reliability curves of both runs on the rows compared."""
    curves = zip(COLOURS, (pair.a, pair.b), (pair.curves.a, pair.curves.b), strict=True)
    named = [(colour, name, {"raw": one}) for colour, name, one in curves if one is not None and any(one.n)]
    return drawn_curves(named, (34.0, 352.0), (318.0, 10.0)) if named else None


def _rows(pair: ComparedRuns) -> list[Group]:
    """Return what each run says and what happened: of all rows, and in the groups where they differ most."""
    names, counts = (pair.a, pair.b), (pair.n_a, pair.n_b)
    measures = [(getattr(pair.measures["confidence"], side), getattr(pair.measures["accuracy"], side)) for side in "ab"]
    rows = [_row("all rows" if k == 0 else "", counts[k], names[k], *measures[k], COLOURS[k]) for k in range(2)]
    for group in named_groups(pair)[:SHOWN]:
        for k, side in enumerate((group.a, group.b)):
            if side is None:
                continue
            ends = (None, None) if side.residual.interval is None else side.residual.interval
            says, known = side.confidence, None not in ends
            happened = Measure(value=side.accuracy, interval=tuple(says + end for end in ends) if known else None)
            title = group.description if k == 0 or group.a is None else ""
            rows.append(_row(title, side.n, names[k], Measure(value=says), happened, COLOURS[k]))
    return [one for one in rows if one is not None]


def _row(name: str, n: int, note: str, says: Measure, happened: Measure, colour: str) -> Group | None:
    if says.value is None or happened.value is None:
        return None
    return Group(
        number=0, name=name, n=n, predicted=says.value, happened=happened, corrected=None,
        hidden=Measure(value=None), colour=colour, note=short(note, 40),
    )  # fmt: skip


def _run(run: RunNumbers) -> dict[str, Any]:
    """Return a run's line: its data and condition, and its certified limit."""
    low, proven = lower_end(run.certificate.lower_bound_hidden), run.certificate.claims_hidden
    without = "found, size unknown" if proven else "none proven"
    data = Path(run.data).name if run.data else "rows in memory"
    made = f"{data}, where {run.where}" if run.where else data
    return {"numbers": run, "made": made, "hidden": lower_limit(low) if low and proven else without}


def _arranged(pair: ComparedRuns, terms: Vocabulary, decimals: int) -> dict[str, Any]:
    """Return what is drawn of the sections, in the words of the runs and with as many decimals as they need."""
    groups, axes = pair.groups[:MAX_GROUPS], _axes(pair, decimals)
    # one axis for all hidden residuals of the page
    sides = [side for one in (*pair.differences, *groups) for side in (one.a, one.b) if side]
    span = max([LEAST_SPAN * 10.0 ** (1 - decimals), *(abs(side.hidden.value or 0.0) for side in sides)])
    axis = Scale(-1.15 * span, 1.15 * span, LEFT, RIGHT)
    return {
        "lines": _lines(pair, terms),
        "rows_said": _rows_said(pair),
        "measures": [_measure(name, pair, terms, decimals) for name in pair.measures],
        "scales": axes,
        "plots": [
            {"name": side, "label": name, "n": n, "dots": axes.dots(getattr(pair.curves, side))}
            for side, name, n in (("a", pair.a, pair.n_a), ("b", pair.b, pair.n_b))
        ],
        "differences": [_group(pair, one, axis, decimals) for one in pair.differences],
        "groups": [_group(pair, one, axis, decimals) for one in groups],
        "more_groups": len(pair.groups) - len(groups),
    }


def _lines(pair: ComparedRuns, terms: Vocabulary) -> dict[str, str]:
    """Say what each section holds, in a line."""
    both, fields = sum(bool(one.both) for one in pair.groups), pair.fields
    alike = None if fields is None else fields.hidden.value
    return {
        "numbers": f"{begin(terms.rate)}, {terms.probability}, calibration error and scores with their differences",
        "reliability": "Both diagrams",
        "differences": f"{count(len(pair.differences))} of {count(pair.candidates)} groups tested",
        "findings": f"{count(len(pair.groups))} of both runs; in {count(both)} of them both fail",
        "fields": f"Hidden parts: {DASH if alike is None else formatting.signed(alike, 2).removeprefix('+')}",
    }


def _rows_said(pair: ComparedRuns) -> str:
    """Say which rows are compared, and how they were matched."""
    if not pair.same_rows:
        return (
            f"The runs have no rows in common, so all rows of both are compared: {count(pair.n_a)} of {short(pair.a)} "
            f"and {count(pair.n_b)} of {short(pair.b)}. A difference can come from the sets as well as from the models."
        )
    alone = ""
    if pair.left_out_a or pair.left_out_b:
        alone = (
            f" Rows of one run alone are left out: {count(pair.left_out_a)} of {short(pair.a)} and "
            f"{count(pair.left_out_b)} of {short(pair.b)}."
        )
    shared = f"All {count(pair.n_a)} rows that both runs have are compared"
    return f"{shared}; they were matched by {short(pair.matched_by)}.{alone}"


def _measure(name: str, pair: ComparedRuns, terms: Vocabulary, decimals: int) -> dict[str, Any]:
    """Write the numbers of a line: shares in percent and points, all else as they are, with two decimals more."""
    one, share = pair.measures[name], name in IN_PERCENT
    kind, digits = ("percent", decimals) if share else ("metric", decimals + 2)
    value, ends = one.difference.value, one.difference.interval
    if value is None:
        change = DASH
    else:
        change = f"{points(value, decimals)} points" if share else formatting.signed(value, digits)
    if share or ends is None or None in ends:
        between = bounds(ends, digits=decimals)
    else:
        between = " to ".join(formatting.signed(end, digits) for end in ends)
    return {
        "label": begin(LABELS.get(name, name).format(rate=terms.rate, probability=terms.probability)),
        "sides": [
            (run, (percent if share else metric)(side.value, digits), bounds(side.interval, kind, digits))
            for run, side in ((pair.a, one.a), (pair.b, one.b))
        ],
        "change": change,
        "between": between,
        "p_value": one.difference.p_value,
        "better": _name(pair, one.better),
    }


def _axes(pair: ComparedRuns, decimals: int) -> ProbabilityAxes:
    """Return the axes of both diagrams: in log-odds where rates are so low that numbers need more than a decimal."""
    if decimals == USUAL:
        return LINEAR_AXES
    curves = [one for one in (pair.curves.a, pair.curves.b) if one is not None]
    return log_odds_axes(value for curve in curves for value in (*curve.confidence, *curve.accuracy))


def _group(pair: ComparedRuns, group: GroupPair, axis: Scale, decimals: int) -> dict[str, Any]:
    """Return a line of a table of groups: both runs, with places of marks and whiskers on the axis."""
    marks = [_mark("a", group.a, axis), _mark("b", group.b, axis)]
    phrases = [
        f"{_name(pair, name)} {'has no rows' if side is None else points(side.hidden.value, decimals)}"
        for name, side in (("a", group.a), ("b", group.b))
    ]
    same = group.a and group.b and group.a.n == group.b.n
    return {
        "group": group,
        "sides": marks,
        "counted": marks[:1] if same else marks,
        "spoken": short(f"Hidden residual of {group.description}: {', '.join(phrases)}", 300),
        "found": "both runs" if len(group.found_in) == 2 else _name(pair, next(iter(group.found_in), None)),
        "ticks": [(axis(tick), points(tick, decimals - 1)) for tick in round_ticks(axis.low, axis.high)],
        "zero": axis(0.0),
    }


def _mark(name: str, side: GroupSide | None, axis: Scale) -> dict[str, Any]:
    known = side is not None and side.hidden.value is not None
    return {
        "name": name,
        "numbers": side,
        "y": HEIGHTS[name],
        "at": axis.inside(side.hidden.value) if known else None,
        "whisker": axis.whisker(side.hidden.interval) if known else None,
    }


def _name(pair: ComparedRuns, side: str | None) -> str | None:
    return None if side is None else getattr(pair, side)
