"""Figures of a study: what draws each, in the module of its kind of plot, and its entry in `FIGURES`.

In: the tables of a study.
Out: figures of matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from matplotlib.figure import Figure

from miscal.study.figures import plots
from miscal.study.tables import Tables


class StudyFigure(NamedTuple):
    """One figure of a study, drawn from its tables alone.

    Attributes
    ----------
    name : str
        Id of its section on the page; its files begin with it.
    title : str
        What it shows, as a heading; like `lesson` it may name words of a study in braces
        (:data:`miscal.study.vocabulary.Words`).
    place : str
        Where the paper shows the like, such as ``"figures 5a and 13"``; empty where the paper has none.
    draw : callable
        From the tables to figures with their names, of which the page shows the first and links to the others. Without
        the rows that it needs it draws none. The caller has chosen the look (:func:`miscal.study.drawing.look`).
    lesson : str
        What to look for, in whole sentences; it also serves those who cannot see the figure.
    """

    name: str
    title: str
    place: str
    draw: Callable[[Tables], Iterable[tuple[str, Figure]]]
    lesson: str


FIGURES: tuple[StudyFigure, ...] = (
    StudyFigure(
        "gaps", "How much worse the worst slice is than the whole", "figure 5b and table 5", plots.gaps,
        "The gap is the calibration error (smECE) of the worse of the two discovered slices less that of all rows. "
        "Where its interval excludes 0 (a filled mark), the whole understates how badly the {probability} is "
        "calibrated on some inputs. A calibrated model has a gap above 0, too, because the calibration error of few "
        "rows is larger: intervals allow for this, may lie left of their mark, and start at 0 where chance explains "
        "the gap. The paper appears to report the gap cut off at 0; here it keeps its sign.",
    ),
    StudyFigure(
        "fields", "How much the field varies, and which way it leans", "figures 5a and 13", plots.fields,
        "Each point is one pair of a model and a data set. Points left of the line are {over} on average. The higher a "
        "point stands, the more the error of the {probability} differs from input to input, which a single "
        "reliability diagram cannot show.",
    ),
    StudyFigure(
        "example", "One pair in detail: what the whole hides", "figure 4", plots.example,
        "On the dashed line, the {rate} equals the {probability}; rows below it are {over}, rows above it {under}. The "
        "two diagrams at the right show the rows that the field sets apart. The pair is the paper's example if the "
        "study has it, otherwise the one with the largest gap, which was chosen after looking.",
    ),
    StudyFigure(
        "improvements", "What a correction takes off, and where", "figure 6", plots.improvements,
        "A bar above 0 means that the correction lowers the calibration error (smECE) on that part of the rows; below "
        "0 it does harm. Bars are means over models, lines one standard deviation. Under each part, which the field "
        "cuts, stands how many of the data set's pairs have it with enough rows.",
    ),
    StudyFigure(
        "gains", "Where the local correction gains most", "figure 7a", plots.gains,
        "Above the line, the local correction leaves less calibration error (smECE) on the worst slice than isotonic "
        "regression, which sees the {probability} alone. If points rise to the right, the gain is larger where the "
        "field varies more. The interval presumes that pairs are independent; those of one model or one data set are "
        "not quite.",
    ),
    StudyFigure(
        "sizes", "Do larger models vary more?", "figure 7b", plots.sizes,
        "A line joins the models of one family, over a logarithmic scale of sizes. Where it rises, the larger models "
        "of the family are miscalibrated more unevenly.",
    ),
    StudyFigure(
        "raw-fields", "Raw inputs beside the learned geometry", "figure 14a", plots.raw_fields,
        "The same residuals are averaged over neighbours in the raw inputs (left) and in the learned geometry (right). "
        "Points that stand higher at the right say that learning found variation that nearness of the raw inputs does "
        "not show.",
    ),
    StudyFigure(
        "raw-gaps", "Gaps that raw inputs find, and gaps that learning finds", "figure 14b", plots.raw_gaps,
        "The further the middle histogram lies to the right of the left one, the more learning adds; the right one "
        "shows the difference within each pair. The hatched bars hold the pairs whose value is exactly 0. The gap of a "
        "calibrated model is above 0, too, so that the shares above 0 show nothing by themselves.",
    ),
    StudyFigure(
        "proxies", "How long learning goes on, on the data and with shuffled labels", "appendix F.3", plots.proxies,
        "The proxy is the validation Brier score of {probability} plus field, by which the paper's method chooses; "
        "each line starts at 0. A line that keeps falling has found structure that helps on these validation rows; "
        "only test rows can show that it holds elsewhere. Under the null called permuted, labels of training and "
        "validation rows are shuffled. Even then the field is not flat, because it learns the base rate less the "
        "{probability}.",
    ),
    StudyFigure(
        "layouts", "What the learned space forgets, and what it keeps", "figure 15", plots.layouts,
        "Each point is a {row}. In the raw inputs, {rows} that are alike lie close together; in the learned space, "
        "those on which the model errs in the same way. Where categories lie apart on the left and are mixed on the "
        "right, the learned space has forgotten the subject; where the field's colours separate, it has kept the "
        "error. A picture in two dimensions proves nothing; the purity of neighbours measures it.",
    ),
)  # fmt: skip
"""All figures, in the order of the page."""
