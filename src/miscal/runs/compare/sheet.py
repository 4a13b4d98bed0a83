"""What is said and shown of a comparison: its three lines, and its sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit, score, spoken, threshold_text
from miscal.base.shown import brief_names, first_words
from miscal.base.vocabulary import ANSWER, Vocabulary, vocabulary
from miscal.discovery.summary import Answer
from miscal.findings.residuals import observed_share
from miscal.findings.verdict import in_points
from miscal.report.drawing import Scale, beside_zero
from miscal.report.formatting import (
    DASH,
    begin,
    count,
    decimals_for,
    listed,
    lower_end,
    metric,
    p_value,
    percent,
    points,
    printable,
    rate,
    short,
)
from miscal.report.groups import Group, drawn_curves, forest_axis
from miscal.report.sheet import Cell, Column, Fold, Forest, Picture, Sheet, Table, cut, measured
from miscal.runs.compare.document import ComparedRuns, GroupPair, RunNumbers

LONGEST_NAME, LONGEST, HEAD = 60, 30, 16
"""Characters of a group's name, and of a run's in a sentence and above a column."""
SHOWN, MAX_GROUPS = 3, 15
"""Groups in the picture that opens the page, and of both ledgers in their table; the document has the rest."""
COLOURS = {"a": "g1", "b": "g2"}
LEAST_SPAN = 0.1
"""Half-width of the axis of hidden residuals at least, so that small differences do not look large."""
LABELS = {
    "calibration_error": "Calibration error: Brier score that recalibration would save",
    "residual": "Mean residual: {rate} minus {probability}",
    "smece": "smECE",
    "accuracy": "{rate}",
    "confidence": "{probability}",
    "brier": "Brier score",
    "log_loss": "Log loss",
    "corrected_log_loss": "Log loss, corrected",
    "alone": "Decided alone at {accepted} errors",
}
IN_PERCENT = ("accuracy", "confidence", "alone")


def answer_of(found: ComparedRuns) -> Answer:
    """Say which run is right more often or better calibrated, what their probabilities are worth, and which to take."""
    words, (a, b) = vocabulary(found.kind), _names(found)
    error, raw, corrected = (found.measures[name] for name in ("calibration_error", "log_loss", "corrected_log_loss"))
    few = error.difference.value is None
    if found.same_answers:
        headline = f"{a} and {b} are alike: they have the same {words.probabilities} and outcomes."
    elif few:
        headline = f"There are too few rows to say whether {a} or {b} is better."
    else:
        # outcomes of events and verdicts of people are not the models' own
        headline = _accuracy(found) if found.kind == ANSWER else _calibration(found, words)
    plain, mended = (f"{score(one.a.value or 0.0)} and {score(one.b.value or 0.0)}" for one in (raw, corrected))
    ahead = "neither is shown to be ahead"
    if corrected.better and (ends := corrected.difference.interval):
        low, high = sorted(score(abs(end or 0.0)) for end in ends)
        ahead = f"{a if corrected.better == 'a' else b} is ahead by {low} to {high}"
    reason = f"Log loss of {a} and {b}: {plain} as they are, {mended} corrected; {ahead}."
    return Answer(headline=headline, reason=reason, action=_action(found, few))


def _names(found: ComparedRuns) -> list[str]:
    """Return the names of the runs as they stand in a sentence."""
    return [cut(first_words(name, 2), LONGEST) for name in (found.a, found.b)]


def _accuracy(found: ComparedRuns) -> str:
    """Say which run is right more often."""
    names, one = _names(found), found.measures["accuracy"]
    order = slice(None, None, -1 if one.better == "b" else 1)
    (more, less), (high, low) = names[order], [spoken(side.value or 0.0) for side in (one.a, one.b)][order]
    rows = "" if found.same_rows else ", each of its own rows"
    if one.better is None:
        return f"Neither is shown to be right more often: {more} in {high}, {less} in {low}{rows}."
    return f"{more} is right more often: in {high}, {less} in {low}{rows}."


def _calibration(found: ComparedRuns, words: Vocabulary) -> str:
    """Say which run is better calibrated as it is."""
    error, mean = found.measures["calibration_error"], found.measures["residual"]
    off = [in_points(math.sqrt(max(side.value or 0.0, 0.0))) for side in (error.a, error.b)]
    if error.better is None and mean.better is not None:
        off = [f"{in_points(abs(one.value or 0.0), words.digits)} on average" for one in (mean.a, mean.b)]
    order = slice(None, None, -1 if found.better == "b" else 1)
    (one, two), (less, more) = _names(found)[order], off[order]
    if found.better is None:
        return f"Reliability diagrams do not tell {one} and {two} apart: off by {less} and {more}."
    return f"{one} is better calibrated: off by {less}, {two} by {more}."


def _action(found: ComparedRuns, few: bool) -> str:
    """Say which run to take, and where the other is nearer."""
    if found.same_answers:
        return "Choose by other reasons: they are calibrated alike."
    if few:
        return "Compare more rows: some hundreds that both runs have."
    if not found.same_rows:
        return "Compare them on the same rows before you take one: what is apart here may come from the rows."
    take, names, closer = found.measures["corrected_log_loss"].better, dict(zip("ab", _names(found), strict=True)), {}
    for side, name in names.items():
        if one := next((one for one in found.differences if found.closer(one) == side), None):
            closer[side] = f"{name} is closer, {brief_names([one.description], LONGEST_NAME)[0]}"
    if take is None:
        where = f"group: {'; '.join(closer.values())}" if closer else "other reasons: neither is shown to be ahead"
        return f"Choose by {where}."
    other = "b" if take == "a" else "a"
    as_it_is = f", though {names[other]} is better calibrated as it is" if found.better == other else ""
    return f"Take {names[take]} with its correction{as_it_is}{f'; {closer[other]}' if other in closer else ''}."


GLOSSARY = {
    "Residual": "{residual} Where its mean is negative, {judged} {over}.",
    "Hidden residual": "The outcome minus the {rate} to be expected at its {probability}, learned from other rows of "
    "the same run. Where it is negative, {in_group} less often {than}, which no reliability diagram shows.",
    "Calibration error": "The average square of the distance between the {probability} and the {rate} to be expected "
    "at it. By as much a perfect recalibration, one that sees nothing but the {probability}, would lower the Brier "
    "score. It is estimated with the outcomes of other rows, so it can come out just below 0.",
    "Better": "Less calibration error or log loss, beyond chance (of calibration error, Brier score and log loss after "
    "allowing for the three by Holm's method); of the mean residual, nearer to 0. The run to take is the one with the "
    "lower log loss once both are corrected.",
    "p, adjusted": "The probability that chance alone would show such a difference, times the number of groups tested "
    "(with four fifths of the error for values of columns). It counts every group that was tested, because those "
    "listed were chosen by the same outcomes.",
    "Decided alone": "The share of the rows compared that a run decides without a person, by the threshold that it "
    "promises at the accepted error. The interval of the difference takes both thresholds as given.",
    "Intervals": "At 95 %, and of one group at a time: they do not allow for the choice of the groups. Where both runs "
    "have the same rows, those of differences are paired. smECE has none of its difference: noise makes it larger by a "
    "different amount in each run.",
    "Field": "The residual to be expected at a given input, estimated from similar inputs. Its hidden part is what the "
    "{probability} alone does not give. Fields are estimates, so their errors lower the correlation.",
    "What rests on what": "The correlation of the fields and the corrected log loss come from fits that did not see "
    "the row, but many rows share a fit: their intervals are those of these fits, and say nothing of others. "
    "Everything else comes from outcomes and {probabilities}, and from the {rate} expected at a {probability}.",
}


# --- the sheet ----------------------------------------------------------------------------------------------------


def sheet_of(comparison: ComparedRuns) -> Sheet:
    """Return the sheet of a comparison."""
    found = printable(comparison)
    terms, decimals = vocabulary(found.kind), decimals_for(found.epsilon)
    fills = {name: getattr(terms, name) for name in ("probability", "probabilities", "rate", "judged", "over")}
    fills |= {"in_group": terms.in_rows("a group", one=True), "than": terms.than_equal_rows()}
    fills |= {"residual": terms.meanings["residual"]}
    # where the runs differ; where they do not, those groups in which both fail
    named, groups = found.differences or tuple(one for one in found.groups if one.both), found.groups[:MAX_GROUPS]
    # one axis for all hidden residuals of the page
    sides = [side for one in (*found.differences, *groups) for side in (one.a, one.b) if side]
    span = max([LEAST_SPAN * 10.0 ** (1 - decimals), *(abs(side.hidden.value or 0.0) for side in sides)])
    columns = _columns(found, terms, decimals, Scale(-1.15 * span, 1.15 * span, 8.0, 252.0))
    where = "All rows" if not named else "Where they differ" if found.differences else "Where both fail"
    rows = _rows(found, named[:SHOWN])
    curves = [
        (COLOURS[side], getattr(found, side), {"raw": curve})
        for side in "ab"
        if (curve := getattr(found.curves, side)) is not None and any(curve.n)
    ]
    return Sheet(
        "comparison",
        listed([found.a, found.b], "and"),
        answer_of(found),
        found.kind,
        tables=[Table(columns, [None, *named]), _measures(found, terms, decimals)],
        facts=_facts(found, terms),
        notes=[*found.notes, *(f"the rows compared do not name the finding {one}" for one in found.not_found)],
        pictures=[
            Picture(
                "Same scale, both runs",
                drawn_curves(curves, (34.0, 352.0), (318.0, 10.0)) if curves else "There are too few rows for a curve.",
            ),
            Picture(where, Forest(rows, forest_axis(rows), terms.heads[1])),
        ],
        folds=_folds(found, terms, decimals, columns),
        glossary={word: meaning.format(**fills) for word, meaning in GLOSSARY.items()},
        decimals=decimals,
        version=found.versions.get("miscal"),
    )


def _facts(found: ComparedRuns, terms: Vocabulary) -> list[tuple[str, str]]:
    """Tell which rows were compared, and how far off the mean of a run would have to be to be told."""
    compared = f"{found.n_a:,}" if found.same_rows else f"{found.n_a:,} and {found.n_b:,}"
    unmatched = f"; {found.left_out_a:,} and {found.left_out_b:,} have no match" if found.same_rows else ""
    facts = [("rows", f"{compared} ({found.matched_by}){unmatched}")]
    if (alone := found.measures.get("alone")) is not None:
        sides = zip(_names(found), (alone.a, alone.b), strict=True)
        shares = " and ".join(f"{name} {spoken(one.value or 0.0)}" for name, one in sides)
        apart, accepted = _in_points(alone.difference, 0).whole, threshold_text(found.accepted_error or 0.0)
        facts.append(("alone", f"accepting {accepted} errors, {shares} of {terms.cases}; {apart}"))
    if found.step is not None:
        step = in_points(found.step, terms.digits)
        facts.append(("could miss", f"a mean that is less than {step} farther off; from there on 4 of 5 are told"))
    return facts


def _columns(found: ComparedRuns, terms: Vocabulary, decimals: int, axis: Scale) -> list[Column]:
    """Return what is shown of a group under both runs; of all rows, which are None, the means."""

    def name(one: GroupPair | None) -> Cell:
        if one is None:
            return Cell("all rows")
        also = [f"{terms.often(one.both)} in both"] if one.both else []
        if one.found_in:
            runs = "both runs" if len(one.found_in) == 2 else getattr(found, one.found_in[0])
            also.append(f"found in {runs}")
        return Cell(one.description, "; ".join([*also, *(f"also {alias}" for alias in one.aliases)]))

    def rows(one: GroupPair | None) -> str:
        many = [found.n_a, found.n_b] if one is None else [0 if side is None else side.n for side in (one.a, one.b)]
        return " and ".join(map(count, many[:1] if many[0] == many[1] else many))

    def side(one: GroupPair | None, run: str) -> Cell:
        if one is None:
            means = [getattr(found.measures[name], run).value for name in ("confidence", "accuracy", "residual")]
            return Cell(f"{rate(means[0])}, {rate(means[1])}", f"residual {points(means[2], decimals)}", COLOURS[run])
        of = getattr(one, run)
        if of is None:
            return Cell("no rows", kind=COLOURS[run])
        said = f"{rate(of.confidence)}, {rate(of.accuracy)}, {points(of.hidden.value, decimals)}"
        return Cell(said, f"residual {points(of.residual.value, decimals)}", COLOURS[run])

    def difference(one: GroupPair | None) -> Cell:
        if one is None or one.hidden is None:
            return Cell("" if one is None else "too few rows")
        return measured(one.hidden, "points", decimals)

    def chart(one: GroupPair | None) -> Cell:
        sides = [] if one is None else [(COLOURS[run], of.hidden) for run in "ab" if (of := getattr(one, run))]
        known = {colour: hidden for colour, hidden in sides if hidden.value is not None}
        return Cell("Hidden residuals", chart=beside_zero(known, axis, decimals - 1) if known else None)

    says, comes = terms.heads[1], terms.heads[0]
    return [
        Column(f"group: {says}, {comes}, hidden", name),
        Column("rows", rows),
        *(Column(cut(getattr(found, run), HEAD), lambda one, run=run: side(one, run)) for run in "ab"),
        Column("hidden residual, points", chart, drawn=True),
        Column("difference", difference),
        Column("p, adjusted", lambda one: "" if one is None else _p(one.p_adjusted), page=True),
    ]


def _in_points(one: Measure, digits: int) -> Cell:
    said = measured(one, "points", digits)
    return replace(said, text=f"{said.text} points")


def _p(value: float | None) -> str:
    return DASH if value is None else p_value(value)


def _folds(found: ComparedRuns, terms: Vocabulary, decimals: int, columns: list[Column]) -> list[Fold]:
    a, b, tested, most = short(found.a), short(found.b), count(found.candidates), found.groups[:MAX_GROUPS]
    differing = [
        f"In these groups the hidden residuals of the two runs differ. {tested} groups that columns and texts name "
        "were tested; with nothing different, a list like this would name any group at all in at most 5 % of "
        "comparisons. Each group is tested given those before it.",
        Table(columns, found.differences),
    ]
    none = f"{tested} groups were tested. Not one is shown to differ, which does not prove that none does."
    findings = [
        f"Findings of both runs. It is marked where both are off in one direction beside {terms.equal_rows()}: "
        "changing from one to the other does not help there.",
        Table(columns, most),
        *([f"{count(more)} more are listed in compare.json."] if (more := len(found.groups) - len(most)) else []),
    ]
    both, samples = sum(bool(one.both) for one in found.groups), "paired" if found.same_rows else "of two samples"
    numbers = [
        dict(_facts(found, terms)),
        _measures(found, terms, decimals),
        f"Differences are those of {a} minus {b}, with 95 % intervals, {samples}. Brier score and log loss also reward "
        "telling rows of different outcome apart.",
    ]
    folds = [
        Fold(
            "differences",
            "Where they differ",
            f"{count(len(found.differences))} of {tested} groups tested",
            differing if found.differences else [none],
        ),
        Fold(
            "findings",
            "Findings side by side",
            f"{count(len(found.groups))} of both runs; in {count(both)} of them both fail",
            findings if most else ["Neither run has any finding."],
        ),
        Fold("numbers", "Numbers", "Calibration error, rates and scores with their differences", numbers),
    ]
    if found.fields is not None:
        undefined = Cell("undefined: one of them is the same everywhere")
        whole, hidden = (
            (measured(one, "metric") if one.value is not None else undefined).whole
            for one in (found.fields.delta, found.fields.hidden)
        )
        parts = {"Whole field": whole, "Hidden part": hidden}
        folds.append(Fold("fields", "Correlation of the fields", f"Hidden parts: {hidden}", [parts]))
    runs = [
        _runs(found, terms, decimals),
        'Numbers of all rows of each run, whether compared or not. "Hidden, at least" is the certified lower limit of '
        "the mean absolute hidden miscalibration, in points, as the run's own report gives it.",
    ]
    return [*folds, Fold("runs", "The runs", f"{a} and {b}", runs)]


def _measures(found: ComparedRuns, terms: Vocabulary, decimals: int) -> Table:
    """Tabulate the measures: shares in percent and points, all else as it is, with two decimals more."""

    def side(name: str, run: str) -> Cell:
        form, digits = ("percent", decimals) if name in IN_PERCENT else ("metric", decimals + 2)
        return measured(getattr(found.measures[name], run), form, digits)

    def difference(name: str) -> Cell:
        one = found.measures[name].difference
        if name not in IN_PERCENT or one.value is None:
            return measured(one, "change", decimals + 2)
        return _in_points(one, decimals)

    def better(name: str) -> str:
        run = found.measures[name].better
        return DASH if run is None else short(getattr(found, run), 40)

    fills = {"rate": terms.rate, "probability": terms.probability}
    fills |= {"accepted": threshold_text(found.accepted_error or 0.0)}
    label = lambda name: begin(LABELS.get(name, name).format(**fills))  # noqa: E731
    columns = [
        Column("measure", label),
        *(Column(cut(getattr(found, run), HEAD), lambda name, run=run: side(name, run)) for run in "ab"),
        Column("difference", difference),
        Column("p", lambda name: _p(found.measures[name].difference.p_value)),
        Column("better", better, number=False),
    ]
    return Table(columns, list(found.measures))


def _runs(found: ComparedRuns, terms: Vocabulary, decimals: int) -> Table:
    def name(run: RunNumbers) -> Cell:
        data = Path(run.data).name if run.data else "rows in memory"
        return Cell(run.name, f"{data}, where {run.where}" if run.where else data)

    def hidden(run: RunNumbers) -> str:
        low, proven = lower_end(run.certificate.lower_bound_hidden), run.certificate.claims_hidden
        return lower_limit(low) if low and proven else "found, size unknown" if proven else "none proven"

    columns = [
        Column("run", name),
        Column("rows", "n", count),
        Column(terms.rate, "global_.accuracy.value", lambda share: percent(share, decimals)),
        Column(terms.probability, "global_.confidence.value", lambda share: percent(share, decimals)),
        Column("smECE", lambda run: measured(run.global_.smece, "metric", decimals + 2)),
        Column("Brier score", "global_.brier.value", lambda one: metric(one, decimals + 2)),
        Column("hidden, at least", hidden),
        Column("findings", "findings", count),
    ]
    return Table(columns, found.runs)


def _rows(pair: ComparedRuns, groups: Sequence[GroupPair]) -> list[Group]:
    """Return what each run says and what happened: of all rows, and in some groups."""
    rows = []
    for side, n in (("a", pair.n_a), ("b", pair.n_b)):
        says, happened = (getattr(pair.measures[name], side) for name in ("confidence", "accuracy"))
        rows.append(("all rows" if side == "a" else "", n, side, says, happened))
    for group in groups:
        for side in "ab":
            if (of := getattr(group, side)) is not None:
                title = group.description if side == "a" or group.a is None else ""
                happened = observed_share(of.accuracy, of.confidence, of.residual.interval)
                rows.append((title, of.n, side, Measure(value=of.confidence), happened))
    return [
        Group(
            number=0, name=title, n=n, predicted=says.value, happened=happened, corrected=None,
            hidden=Measure(value=None), colour=COLOURS[side], note=short(getattr(pair, side), 40),
        )
        for title, n, side, says, happened in rows if says.value is not None and happened.value is not None
    ]  # fmt: skip
