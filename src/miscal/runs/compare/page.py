"""The page of a comparison, put together from views of its pairs."""

from pathlib import Path

from miscal.report.frame import render_page
from miscal.report.source import printable
from miscal.report.texts import listed
from miscal.runs.compare.document import RunComparison
from miscal.runs.compare.views import pair_view, run_view

STYLES = ("base.css", "tables.css", "figures.css", "print.css", "compare.css")

SECTIONS = {"numbers": "Numbers", "differences": "Differences", "findings": "Findings"}
"""Sections of a pair that the contents of a single comparison list."""

GLOSSARY = (
    (
        "Residual",
        "The outcome (1 if the answer is right, 0 if it is wrong) minus the confidence, in percentage points. Where "
        "its mean is negative, the model is over-confident.",
    ),
    (
        "Hidden residual",
        "The outcome minus the accuracy to be expected at its confidence, learned from other rows of the same run. A "
        "group with a negative one is right less often than rows of equal confidence, which no reliability diagram "
        "shows.",
    ),
    (
        "Calibration error",
        "The average square of the distance between the confidence and the accuracy to be expected at it. By as much a "
        "perfect recalibration, one that sees nothing but the confidence, would lower the Brier score.",
    ),
    (
        "Better",
        "Of all rows: less calibration error, with a 95 % interval of the difference without 0. Of a group: one run's "
        "average confidence is nearer to its accuracy, with an adjusted p of at most 0.05.",
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
        "confidence alone does not give.",
    ),
    (
        "What rests on what",
        "The correlation of the fields, the regimes and the saving by the local correction come from fits that did not "
        "see the row, but many rows share a fit: their intervals are those of these fits, and say nothing of "
        "others. Everything else comes from outcomes and confidences, and from the accuracy expected at a confidence.",
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
    pairs = [pair_view(pair) for pair in shown.pairs]
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
        glossary=GLOSSARY,
        version=shown.versions.get("miscal"),
    )
