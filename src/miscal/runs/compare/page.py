"""The page of a comparison, put together from views of its pairs."""

from pathlib import Path

from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.report.frame import render_page
from miscal.report.precision import decimals_for
from miscal.report.source import printable
from miscal.report.texts import listed
from miscal.runs.compare.document import RunComparison
from miscal.runs.compare.views import pair_view, run_view
from miscal.runs.compare.wording import confidence_facts

STYLES = ("base.css", "tables.css", "figures.css", "print.css", "compare.css")

SECTIONS = {"numbers": "Numbers", "differences": "Differences", "findings": "Findings"}
"""Sections of a pair that the contents of a single comparison list."""

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
        "Of all rows: less calibration error, with a 95 % interval of the difference without 0. Of a group: one run's "
        "average {probability} is nearer to its {rate}, with an adjusted p of at most 0.05.",
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
        "The correlation of the fields, the regimes and the saving by the local correction come from fits that did not "
        "see the row, but many rows share a fit: their intervals are those of these fits, and say nothing of "
        "others. Everything else comes from outcomes and {probabilities}, and from the {rate} expected at a "
        "{probability}.",
    ),
)


def build(comparison: RunComparison) -> str:
    """Return the page of a comparison as text.

    Returns
    -------
    str
        One HTML file without program or outside resource; the same comparison gives the same text.
    """
    shown = printable(comparison)
    terms, decimals = vocabulary(shown.kind), decimals_for(shown.epsilon)
    pairs = [pair_view(pair, terms, decimals) for pair in shown.pairs]
    single = [(f"{name}-1", label) for name, label in SECTIONS.items()] + [("runs", "Runs"), ("glossary", "Glossary")]
    several = [(f"pair-{k}", f"{pair.a} and {pair.b}"[:40]) for k, pair in enumerate(shown.pairs, start=1)]
    return render_page(
        "compare.html",
        STYLES,
        folder=Path(__file__).parent,
        title=listed([run.name for run in shown.runs], "and"),
        pairs=pairs,
        runs=[run_view(run) for run in shown.runs],
        contents=single if len(pairs) == 1 else [*several[:6], single[-1]],
        glossary=[(word, meaning.format(**_fills(terms))) for word, meaning in GLOSSARY],
        confidence_facts=confidence_facts(shown),
        terms=terms,
        decimals=decimals,
        digits=decimals if terms.digits else 0,
        version=shown.versions.get("miscal"),
    )


def _fills(terms: Vocabulary) -> dict[str, str]:
    plain = ("probability", "probabilities", "rate", "judged", "over")
    made = {"in_group": terms.in_rows("a group", one=True), "than": terms.than_equal_rows()}
    return {name: getattr(terms, name) for name in plain} | made | {"residual": terms.meanings["residual"]}
