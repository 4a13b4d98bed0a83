"""The sheet of a card: two pages in print, with what a person may paste into a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.errors import InputError
from miscal.base.files import check_target, write_new
from miscal.base.shown import escaped
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.summary import Answer
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report.formatting import NBSP, count, decimals_for, p_value, percent, printable
from miscal.report.sheet import Cell, Column, Fold, Part, Sheet, Table, measured
from miscal.runs.card.card import GRADES, Card, Segment, card

Share = Callable[[float | None], str]
"""Writes a probability with as many decimals as the run needs."""

SHOWN = 16
"""Segments that are printed: so many leave room for the rest on two pages. The others stand at the end of the page."""
LABELS = {
    "auc": ("AUC: how well it ranks", "1; by chance 0.5"),
    "observed": ("Observed: {rate}", ""),
    "expected": ("Expected: mean {probability}", ""),
    "observed_expected": ("Observed over expected (in the large)", "1"),
    "intercept": ("Calibration intercept, log-odds", "0"),
    "slope": ("Calibration slope", "1"),
    "smece": ("smECE", "0"),
    "ece": ("ECE, 15 bins of equal width", "0"),
    "brier": ("Brier score = calibration − resolution + uncertainty", "0"),
    "brier_calibration": ("Brier score, calibration part", "0"),
    "brier_resolution": ("Brier score, resolution part", "large; of no use 0"),
    "brier_uncertainty": ("Brier score, uncertainty part", "of the outcomes alone"),
}
"""What each number is called, and which would be best."""
FORM = {"observed": "percent", "expected": "percent", "observed_expected": "ratio", "slope": "ratio"}


def write_card(run: str | Path, out: str | Path, *, grades: str | int = GRADES, overwrite: bool = False) -> Card:
    """Make the card of a run folder, and write it as a page or as markdown; `grades` as for :func:`.card.card`."""
    write = {".html": lambda found: sheet_of(found).page(), ".md": markdown_of}.get(Path(out).suffix.lower())
    if write is None:
        raise InputError(f"--out must be a .html or a .md file; got {out}")
    target = {"overwrite": overwrite, "reads": [run]}
    check_target(out, **target)
    found = card(run, grades=grades)
    write_new(out, write(found).encode(), **target)
    return found


def sheet_of(given: Card) -> Sheet:
    """Return the sheet of a card."""
    card = printable(given)
    words, decimals = vocabulary(card.kind), decimals_for(card.epsilon)
    share = lambda one: percent(one, decimals)  # noqa: E731
    measures = Table(_measured(card, words, decimals), list(LABELS))
    graded = Table(_grade_columns(share), card.grades)
    segments, others = (Table(_segment_columns(share), part) for part in (card.segments[:SHOWN], card.segments[SHOWN:]))
    # values of columns that are off with regard to all, those that differ most first
    off = [one for one in card.segments[card.n_found :] if one.p_adjusted <= SIGNIFICANCE]
    left = len(others.rows)
    values = len(card.segments) - card.n_found
    said = f"{len(off)} of {values:,} off beyond chance, with regard to all of them; {card.n_found} groups found"
    told = (
        f"Tested is whether outcomes are as the {words.probability} says; of groups that were found, whether they are "
        f"as in rows of equal {words.probability}, as the last column says of all."
    )
    later = [f"{left:,} more stand at the end of the page, and are not printed."] if left else []
    shown = [
        Fold("assessed", "What was assessed", card.about["model"], [card.about]),
        Fold("numbers", "Discrimination and calibration", "95 % intervals and tests", [measures]),
        Fold("grades", "Grades", _by(card), [graded]),
        Fold("segments", "Segments", said, [told, segments, *later]),
        *(
            [Fold("decided", "Decisions and monitoring", ", ".join(card.decided), [card.decided])]
            if card.decided
            else []
        ),
        Fold("text", "For a report", "methods and limits", [Part(*one) for one in texts(card).items()]),
    ]
    return Sheet(
        "card",
        card.run,
        Answer(headline=_headline(card, words), reason=_reason(card, words, off), action=card.advice),
        card.kind,
        tables=[measures, graded, replace(segments, left=left)],
        facts=[
            ("rows", f"{count(card.n)}, counted by {card.about['counted by']}"),
            ("grades", f"{sum(one.p_units <= SIGNIFICANCE for one in card.grades)} of {_by(card)} off, each by itself"),
            ("segments", said),
            *card.decided.items(),
        ],
        folds=[
            *(replace(one, unfolded=True) for one in shown),
            *([Fold("others", "Other segments", f"{left:,}", [others])] if left else []),
        ],
        decimals=decimals,
    )


def markdown_of(card: Card) -> str:
    """Return the whole card as GitHub-flavoured markdown."""
    assessed = "\n".join(f"- **{about}**: {escaped(said)}" for about, said in card.about.items())
    parts = {"What was assessed": assessed, **{title: escaped(text) for title, text in texts(card).items()}}
    written = [sheet_of(card).markdown(), *(f"#### {title}\n\n{text}" for title, text in parts.items())]
    return "\n\n".join(written) + "\n"


def _by(card: Card) -> str:
    return f"{len(card.grades)} {'grades by risk' if not card.grades_by else f'grades of {card.grades_by}'}"


def _times(measure: Measure) -> str:
    """Write a ratio with its interval: "1.17 (1.01 to 1.34)"."""
    return measured(measure, "ratio").whole


def _beyond(one: MeasureAgainstNull, less: str, alike: str, more: str) -> str:
    """Say on which side of 1 a number lies, beyond chance, or that it may lie on either."""
    if one.p_value is None or one.p_value > SIGNIFICANCE:
        return alike
    return more if (one.value or 0.0) > 1 else less


def _headline(card: Card, words: Vocabulary) -> str:
    one = card.measures["observed_expected"]
    if one.value is None:
        return "Observed over expected is not defined: nothing is expected in any row."
    often = _beyond(
        one, "less often than predicted", "as often as predicted, within chance", "more often than predicted"
    )
    return f"Observed over expected is {_times(one)}: {words.comes_true()} {often}."


def _reason(card: Card, words: Vocabulary, off: Sequence[Segment]) -> str:
    """Say how probabilities spread, and in how many segments they are off."""
    slope, values = card.measures["slope"], len(card.segments) - card.n_found
    apart = _beyond(slope, "lie too far from their mean", "are not shown to spread wrongly", "lie too near their mean")
    said = [f"Calibration slope {_times(slope)}: {words.probabilities} {apart}."]
    worst = f", first {off[0].name}: {_times(off[0].ratio)}" if off else ""
    segments = [f"{len(off)} of {values:,} segments are off beyond chance{worst}."]
    return " ".join([*(said if slope.value is not None else []), *(segments if values else [])])


# --- tables -------------------------------------------------------------------------------------------------------


def _measured(card: Card, words: Vocabulary, decimals: int) -> list[Column]:
    """Return what is said of a number of all rows, by its name."""
    places = {"percent": decimals, "ratio": 2, "metric": decimals + 2}

    def cell(name: str) -> Cell:
        form = FORM.get(name, "metric")
        return measured(card.measures[name], form, places[form])

    return [
        Column("number", lambda name: LABELS[name][0].format(rate=words.rate, probability=words.probability)),
        Column("value", lambda name: cell(name).text),
        Column("95 % interval", lambda name: cell(name).aside),
        Column("p", lambda name: _p(card.measures[name].p_value)),
        Column("best", lambda name: LABELS[name][1], number=False),
    ]


def _p(value: float | None) -> str:
    """Write a p-value below its heading."""
    return "" if value is None else p_value(value).replace(NBSP, " ").removeprefix("p = ").removeprefix("p ")


def _grade_columns(share: Share) -> list[Column]:
    return [
        Column("grade", lambda one: one.name or " to ".join(dict.fromkeys((share(one.low), share(one.high))))),
        Column("rows", "n", count),
        Column("expected", "expected", share),
        Column("observed", "observed.value", share),
        Column("Jeffreys, 95 %", lambda one: " to ".join(map(share, one.observed.interval or ()))),
        Column("p, binomial", "p_value", _p),
        Column("p, by units", "p_units", _p),
    ]


def _segment_columns(share: Share) -> list[Column]:
    return [
        Column("segment", "name"),
        Column("rows", "n", count),
        Column("expected", "expected", share),
        Column("observed", "observed", share),
        Column("observed / expected", "ratio", _times),
        Column("p, for all", "p_adjusted", _p),
        Column("beside equal probability", "mark", number=False),
    ]


# --- texts --------------------------------------------------------------------------------------------------------


def texts(card: Card) -> dict[str, str]:
    """Return a paragraph of methods and one of limits, for a person to paste."""
    period = f" ({card.about['period']})" if "period" in card.about else ""
    certain = (
        f" {card.certain:,} probabilities are 0 or 1, with infinite log-odds: intercept and slope, for which they are "
        "half as far from there as the nearest other, depend on that."
    )
    return {
        "Methods": f"Calibration was assessed on {card.n:,} rows{period}, counted by {card.about['counted by']}, with "
        f"{card.about['made with'].split(',')[0]} (arXiv 2605.13484). Observed over expected is mean outcome over mean "
        "probability; intercept and slope are of logistic recalibration, the intercept with the log-odds as offset. "
        "Intervals are at 95 %, for these three by the influence of each unit with Student's quantile, for the AUC by "
        "DeLong. smECE and ECE are tested against outcomes drawn from the probabilities. Parts of the Brier score "
        "compare probabilities with outcomes expected there, as learned from other rows. Grades have Jeffreys "
        "intervals and two-sided binomial tests, as if rows were independent, and of as many independent rows as say "
        "as much. P-values of segments allow for all (Holm), those of found groups for all candidates, beside rows of "
        "equal probability.",
        "Limits": "The numbers are of these rows; new ones need a look of their own. What is not shown to be off is "
        "not shown to be right: the intervals say what else may be, and segments of few rows can be far off unnoticed. "
        "Outcomes are taken as recorded. Rows that hang together in a way that was not counted make intervals too "
        f"narrow. For whom the model may be used, no number here decides.{certain if card.certain else ''}",
    }
