"""What each folded section of the page holds: in a line, and in a small picture beside it."""

from __future__ import annotations

from typing import NamedTuple

from miscal.base.number_wording import percent, spoken, threshold_text
from miscal.discovery.answer import rate_sentence
from miscal.findings.ledger.values import FINDING
from miscal.report.alone import alone_at, shares
from miscal.report.brief import WIDER
from miscal.report.drawing import Scale, path
from miscal.report.formatting import count, p_value, size
from miscal.report.map_data import MAX_ROWS
from miscal.report.source import Source
from miscal.report.texts import first_sentence, row_words


def counted(source: Source) -> str:
    """Count the rows, and what they are counted by."""
    units, n = source.summary.units, f"{count(source.summary.n)} rows"
    return n if units is None or units.widening < WIDER else f"{n}, counted by {units.unit} ({count(units.n_units)})"


def notes(source: Source) -> str:
    """Return the first alarm, or the number of notes."""
    alarms, warnings = source.summary.alarms, source.summary.warnings
    if alarms:
        return first_sentence(alarms[0])[0]
    return f"{len(warnings)} note{'' if len(warnings) == 1 else 's'} on the data and on how certain the numbers are"


def verdict(source: Source) -> str:
    """Say how sure it is that something is hidden."""
    proof, words = source.summary.certificate, row_words(source.summary)
    return f"Hidden error: {p_value(proof.p_value)} on {count(proof.n or words.n)} {words.rows}"


def judge(source: Source) -> str:
    """Say how often people would approve of all answers."""
    numbers = source.summary.judge
    return "" if numbers is None else first_sentence(rate_sentence(numbers))[0]


def classes(source: Source) -> str:
    """Count classes and their findings."""
    numbers = source.summary.classes
    if numbers is None:
        return ""
    return (
        f"{len(numbers.classes):,} classes, {len(numbers.findings):,} findings, {len(numbers.confusions):,} confusions"
    )


def columns(source: Source) -> str:
    """Count the values of all columns, and those that are findings."""
    values = [one for table in source.columns.values() for one in table]
    found, many = sum(one.mark == FINDING for one in values), len(source.columns)
    of = f"{count(len(values))} values of {many} column{'' if many == 1 else 's'}"
    return f"{of}; {found} of them {'is a finding' if found == 1 else 'are findings'}"


def alone(source: Source) -> str:
    """Say how much may be decided alone."""
    found = alone_at(source.summary)
    by = f"{shares(found)} by corrected {source.terms.probabilities}, {shares(found, own=True)} by its own"
    return f"Accepting {threshold_text(found[0].max_error)} errors: {by}"


def decisions(source: Source) -> str:
    """Say what is promised and observed at the first threshold."""
    one, words = source.summary.decisions[0], source.terms
    side, at = one.before, f"At {threshold_text(one.threshold)}"
    if not side.n:
        return f"{at} nothing is {words.acted}"
    promised, observed = spoken(side.promised or 0.0), spoken(side.observed.value or 0.0)
    return f"{at}: {promised} promised, {observed} observed of {count(side.n)} {words.cases} {words.acted}"


def over_time(source: Source) -> str:
    """Count the periods."""
    over = source.summary.over_time
    if over is None:
        return ""
    return f"{len(over.periods):,} {over.period or 'period'}s" if over.period else f"{len(over.periods):,} periods"


def atlas(source: Source) -> str:
    """Count the rows of the map."""
    shown, info = min(source.map.height, MAX_ROWS), source.summary.map
    total = max(shown, info.n_total if info else 0)
    if not shown:
        return "The run left no rows to show"
    return f"{count(shown)} of {count(total)} rows to point at and colour"


def corrections(source: Source) -> str:
    """Say how the log loss changes."""
    raw, ours = (source.summary.correction.get(name) for name in ("raw", "miscal"))
    if raw is None or ours is None or None in (raw.all.log_loss, ours.all.log_loss):
        return "Its log loss could not be measured"
    return (
        f"Log loss {raw.all.log_loss:.3f} before, {ours.all.log_loss:.3f} after; beside isotonic regression and others"
    )


def reliability(source: Source) -> str:
    """Say how far accuracy and confidence are apart along the diagram."""
    raw, ours = (source.summary.correction.get(name) for name in ("raw", "miscal"))
    if raw is None or ours is None or None in (raw.all.smece, ours.all.smece):
        return "All rows and each regime, before and after"
    before, after = (size(one.all.smece, source.decimals) for one in (raw, ours))
    return f"Calibration error (smECE) {before} points before, {after} after"


def regimes(source: Source) -> str:
    """Give the shares of the regimes."""
    names = source.regime_names
    shares = [f"{names.get(one.name, one.name)} {percent(one.share)}" for one in source.summary.regimes if one.n]
    return ", ".join(shares) or "No rows to measure"


def histogram(source: Source) -> str:
    """Say how much the field varies."""
    field = source.summary.field
    if field.std is None or field.std_hidden is None:
        return "How the estimated errors are spread"
    whole, hidden = (size(one, source.decimals) for one in (field.std, field.std_hidden))
    return f"They vary by {whole} points, the hidden part by {hidden}"


def making(source: Source) -> str:
    """Name the method and the seed."""
    summary = source.summary
    tested = 0 if summary.findings_method is None else summary.findings_method.candidates
    return f"{count(tested)} groups tested, method {summary.method}, seed {summary.seed}"


def glossary(source: Source) -> str:
    """Say what is explained."""
    return f"{source.terms.probability.capitalize()}, residual, field, regime and the others"


WIDE, HIGH = 150.0, 28.0
_ACROSS = 4.0, WIDE - 4.0
_MOST_VALUES = 300
"""Values of columns that a strip shows: those of most rows."""
_LEAST_REACH = 0.05


class Small(NamedTuple):
    """Lines and dots, each with how it looks: paths with their data, and dots with their places."""

    lines: tuple[tuple[str, str], ...] = ()
    dots: tuple[tuple[str, float, float], ...] = ()


def draw_columns(source: Source) -> Small | None:
    """Draw what is hidden at every value of the columns, beside zero; findings have the colours of their sign."""
    values = [one for table in source.columns.values() for one in table if one.hidden.value is not None]
    if not values:
        return None
    values = sorted(sorted(values, key=lambda one: -one.n)[:_MOST_VALUES], key=lambda one: one.mark == FINDING)
    reach = max(_LEAST_REACH, *(abs(one.hidden.value or 0.0) for one in values))
    across = Scale(-reach, reach, *_ACROSS)
    dots = []
    for one in values:
        size = one.hidden.value or 0.0
        kind = "other" if one.mark != FINDING else "under" if size > 0 else "over"
        dots.append((kind, across(size), HIGH / 2))
    return Small(lines=(("zero", f"M{across(0)} 3V25"),), dots=tuple(dots))


def draw_alone(source: Source) -> Small | None:
    """Draw the error against the share decided, by its own confidence (dashed) and corrected."""
    pair = next((one for one in source.summary.alone_curves if one.raw and one.corrected), None)
    if pair is None or pair.raw is None or pair.corrected is None:
        return None
    kinds = {"diagonal": pair.raw, "curve": pair.corrected}
    highest = max(max(one.error) for one in kinds.values()) or 1.0
    across, up = Scale(0, 1, *_ACROSS), Scale(0, highest, HIGH - 4, 4)
    places = {kind: zip(map(across, one.share), map(up, one.error), strict=True) for kind, one in kinds.items()}
    return Small(lines=tuple((kind, path(line)) for kind, line in places.items()))


def draw_corrections(source: Source) -> Small | None:
    """Draw the log loss before and after as bars from zero."""
    raw, ours = (source.summary.correction.get(name) for name in ("raw", "miscal"))
    if raw is None or ours is None or raw.all.log_loss is None or ours.all.log_loss is None:
        return None
    before, after = raw.all.log_loss, ours.all.log_loss
    across = Scale(0.0, max(before, after) or 1.0, *_ACROSS)
    kinds = {9: ("bar other", before), 19: ("bar better" if after < before else "bar", after)}
    return Small(lines=tuple((kind, f"M{across.start} {y}H{across(loss)}") for y, (kind, loss) in kinds.items()))


def draw_histogram(source: Source) -> Small | None:
    """Draw the estimated errors as bars."""
    counted = source.summary.histogram
    kinds = {"over": counted.over, "good": counted.good, "under": counted.under}
    tallest = max((sum(bins) for bins in zip(*kinds.values(), strict=True)), default=0)
    if not tallest or counted.edges[0] == counted.edges[-1]:
        return None
    across, up = Scale(counted.edges[0], counted.edges[-1], *_ACROSS), Scale(0, tallest, HIGH - 3, 3)
    middles = [(low + high) / 2 for low, high in zip(counted.edges, counted.edges[1:], strict=False)]
    lines, below = [], [0] * len(middles)
    for kind, bins in kinds.items():
        bars = [(x, y, n) for x, y, n in zip(middles, below, bins, strict=True) if n]
        if bars:
            lines.append((f"bin {kind}", "".join(f"M{across(x)} {up(y)}V{up(y + n)}" for x, y, n in bars)))
        below = [y + n for y, n in zip(below, bins, strict=True)]
    return Small(lines=tuple(lines))
