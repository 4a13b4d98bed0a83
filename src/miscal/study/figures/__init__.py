"""Figures of a study. To add one: what draws it, in the module of its kind of plot, and its entry in `FIGURES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from matplotlib.figure import Figure

from miscal.study.figures import plots
from miscal.study.tables import Tables


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study, drawn from its tables alone.

    Attributes
    ----------
    name : str
        Id of its section on the page; its files begin with it.
    title : str
        What it shows, as a heading; like `lesson` it may name words of a study in braces, which
        :meth:`miscal.study.vocabulary.StudyVocabulary.fill` puts in.
    place : str
        Where the paper shows the like, such as ``"figures 5a and 13"``; empty where the paper has none.
    lesson : str
        What to look for, in whole sentences; it also serves those who cannot see the figure.
    draw : callable
        From the tables to figures with their names, of which the page shows the first and links to the others. Without
        the rows that it needs it draws none. The caller has chosen the look (:func:`miscal.study.drawing.look`).
    """

    name: str
    title: str
    place: str
    lesson: str
    draw: Callable[[Tables], Iterable[tuple[str, Figure]]]


FIGURES: tuple[StudyFigure, ...] = (
    StudyFigure(
        name="gaps",
        title="How much worse the worst slice is than the whole",
        place="figure 5b and table 5",
        lesson="The gap is the calibration error (smECE) of the worse of the two discovered slices less that of all "
        "rows. Where it lies right of the line and its interval excludes 0 (a filled mark), the whole understates "
        "how badly the {probability} is calibrated on some inputs. A calibrated model has a gap above 0, too, "
        "because the calibration error of few rows is larger. Bars are 95 % intervals that allow for this, which is "
        "why they may lie left of their mark; they start at 0 where chance explains the gap. The paper appears to "
        "report the gap cut off at 0; here it keeps its sign.",
        draw=plots.gaps,
    ),
    StudyFigure(
        name="fields",
        title="How much the field varies, and which way it leans",
        place="figures 5a and 13",
        lesson="Each point is one pair of a model and a data set. Points left of the line are {over} on average. The "
        "higher a point stands, the more the error of the {probability} differs from input to input, which a single "
        "reliability diagram cannot show.",
        draw=plots.fields,
    ),
    StudyFigure(
        name="example",
        title="One pair in detail: what the whole hides",
        place="figure 4",
        lesson="On the dashed line, the {rate} equals the {probability}; rows below it are {over}, rows above it "
        "{under}. The two diagrams at the right show the rows that the field sets apart. The pair is the paper's "
        "example if the study has it, otherwise the one with the largest gap, which was chosen after looking.",
        draw=plots.example,
    ),
    StudyFigure(
        name="improvements",
        title="What a correction takes off, and where",
        place="figure 6",
        lesson="A bar above 0 means that the correction lowers the calibration error (smECE) on that part of the "
        "rows; below 0 it does harm. Bars are means over models, lines one standard deviation over models. Under "
        "each part stands how many of the data set's pairs have it with enough rows. Parts are always cut by the "
        "field.",
        draw=plots.improvement_bars,
    ),
    StudyFigure(
        name="gains",
        title="Where the local correction gains most",
        place="figure 7a",
        lesson="Above the line, the local correction leaves less calibration error (smECE) on the worst slice than "
        "isotonic regression, which sees the {probability} alone. If points rise to the right, the gain is larger "
        "where the field varies more. The interval presumes that pairs are independent; those of one model or one "
        "data set are not quite.",
        draw=plots.gains,
    ),
    StudyFigure(
        name="sizes",
        title="Do larger models vary more?",
        place="figure 7b",
        lesson="A line joins the models of one family. Where it rises, the larger models of the family are "
        "miscalibrated more unevenly. The scale of sizes is logarithmic.",
        draw=plots.sizes,
    ),
    StudyFigure(
        name="raw-fields",
        title="Raw inputs beside the learned geometry",
        place="figure 14a",
        lesson="The same residuals are averaged over neighbours in the raw inputs (left) and in the learned geometry "
        "(right). Points that stand higher at the right say that learning found variation that nearness of the raw "
        "inputs does not show.",
        draw=plots.raw_fields,
    ),
    StudyFigure(
        name="raw-gaps",
        title="Gaps that raw inputs find, and gaps that learning finds",
        place="figure 14b",
        lesson="The hatched bars hold the pairs whose value is exactly 0: no slice is worse calibrated than the "
        "whole, or both gaps are 0. The further the middle histogram lies to the right of the left one, the more "
        "learning adds; the right one shows the difference within each pair. The gap of a calibrated model is above "
        "0, too, so that the shares above 0 show nothing by themselves.",
        draw=plots.raw_gaps,
    ),
    StudyFigure(
        name="proxies",
        title="How long learning goes on, on the data and with shuffled labels",
        place="appendix F.3",
        lesson="The proxy is the validation Brier score of {probability} plus field, by which the paper's method "
        "chooses; each line starts at 0 so that they can be compared. A line that keeps falling has found structure "
        "that helps on the validation rows by which it was chosen; only test rows can show that it holds elsewhere. "
        "Under the null called permuted, labels of training and validation rows are shuffled. Even then the field is "
        "not flat, because it learns the base rate less the {probability}.",
        draw=plots.proxies,
    ),
    StudyFigure(
        name="layouts",
        title="What the learned space forgets, and what it keeps",
        place="figure 15",
        lesson="Each point is a {row}. In the raw inputs, {rows} that are alike lie close together. In the learned "
        "space, {rows} on which the model errs in the same way lie close together. Look for categories that lie "
        "apart on the left and are mixed on the right: there, the learned space has forgotten the subject. If the "
        "field's colours separate at the same time, it has kept the error. A picture in two dimensions proves "
        "nothing; the purity of neighbours measures it.",
        draw=plots.layouts,
    ),
)
"""All figures, in the order of the page."""
