"""Arrange the numbers of a comparison for its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from miscal.base.document import Interval
from miscal.base.number_wording import lower_limit
from miscal.base.vocabulary import Vocabulary
from miscal.report import formatting
from miscal.report.drawing import Dot, Scale, round_ticks
from miscal.report.formatting import DASH, bounds, count, metric, percent, points
from miscal.report.legend import regime_labels
from miscal.report.panels.verdict import lower_end
from miscal.report.precision import USUAL
from miscal.report.probability_axes import LINEAR_AXES, ProbabilityAxes, log_odds_axes
from miscal.report.texts import begin, short
from miscal.runs.compare.document import GroupPair, GroupSide, MeasurePair, RegimeAgreement, RunNumbers, RunPair

LABELS = {
    "calibration_error": "Calibration error: Brier score that recalibration would save",
    "smece": "smECE",
    "accuracy": "{rate}",
    "confidence": "{probability}",
    "brier": "Brier score",
    "log_loss": "Log loss",
    "local_saving": "Brier score that the local correction saves beyond recalibration",
}
IN_PERCENT = ("accuracy", "confidence")
MAX_GROUPS, MAX_NEARER = 15, 8
"""Groups shown of both ledgers, and of those in which one run is better; the document has the rest."""
HEIGHTS = {"a": 10.0, "b": 24.0}
LEFT, RIGHT = 8.0, 252.0
LEAST_SPAN = 0.1
"""Half-width of the axis of hidden residuals at least, so that small differences do not look large."""


@dataclass(frozen=True)
class MeasureRow:
    """A line of the table of numbers, with the way its numbers are written."""

    name: str
    values: MeasurePair
    better: str
    terms: Vocabulary
    decimals: int

    @property
    def label(self) -> str:
        """What the measure is called."""
        label = LABELS.get(self.name, self.name)
        return begin(label.format(rate=self.terms.rate, probability=self.terms.probability))

    def write(self, value: float | None) -> str:
        """Write a value of one run."""
        if self.name in IN_PERCENT:
            return percent(value, self.decimals)
        return metric(value, self.decimals + 2)

    def bounds(self, interval: Interval) -> str:
        """Write the interval of one run's value."""
        if self.name in IN_PERCENT:
            return bounds(interval, "percent", self.decimals)
        return bounds(interval, "metric", self.decimals + 2)

    def change(self, value: float | None) -> str:
        """Write a difference, with its sign."""
        if value is None:
            return DASH
        if self.name in IN_PERCENT:
            return f"{points(value, self.decimals)} points"
        return formatting.signed(value, self.decimals + 2)

    def change_bounds(self, interval: Interval) -> str:
        """Write the interval of a difference."""
        if self.name in IN_PERCENT or interval is None or None in interval:
            return bounds(interval, digits=self.decimals)
        return " to ".join(formatting.signed(end, self.decimals + 2) for end in interval)


@dataclass(frozen=True)
class SideMark:
    """A group under one run: its numbers, and where the residual drawn and its interval stand."""

    name: str
    values: GroupSide | None
    at: float | None
    whisker: tuple[float, float] | None

    @property
    def y(self) -> float:
        """Height of the mark."""
        return HEIGHTS[self.name]


@dataclass(frozen=True)
class GroupRow:
    """A line of a table of groups."""

    group: GroupPair
    sides: tuple[SideMark, SideMark]
    spoken: str
    found: str
    ticks: list[tuple[float, str]]
    zero: float

    @property
    def counted(self) -> Sequence[SideMark]:
        """The sides whose numbers of rows are written: one where both have as many."""
        one, two = (side.values for side in self.sides)
        return self.sides[:1] if one and two and one.n == two.n else self.sides


@dataclass(frozen=True)
class ReliabilityPlot:
    """A reliability diagram of one run."""

    name: str
    label: str
    n: int
    dots: list[Dot]


@dataclass(frozen=True)
class PairView:
    """A pair of runs as drawn."""

    pair: RunPair
    measures: list[MeasureRow]
    plots: list[ReliabilityPlot]
    differences: list[GroupRow]
    groups: list[GroupRow]
    more_groups: int
    nearer: list[GroupRow]
    more_nearer: int
    counted: int
    against: bool
    terms: Vocabulary
    axes: ProbabilityAxes

    @property
    def regime_labels(self) -> list[str]:
        """Names of the regimes, in the order of the table."""
        labels = regime_labels(self.terms)
        return [labels[name] for name in self.pair.regimes.names] if self.pair.regimes else []

    @property
    def confusions(self) -> list[tuple[RegimeAgreement, str]]:
        """The tables of regimes, with their headings."""
        tables = {"Regimes": self.pair.regimes, "Regimes of the hidden part": self.pair.hidden_regimes}
        return [(table, heading) for heading, table in tables.items() if table is not None]

    @property
    def rows_said(self) -> str:
        """Which rows are compared, and how they were matched."""
        pair = self.pair
        if not pair.same_rows:
            return (
                f"The runs have no rows in common, so all rows of both are compared: {count(pair.n_a)} of "
                f"{short(pair.a)} and {count(pair.n_b)} of {short(pair.b)}. A difference can come from the sets as "
                "well as from the models."
            )
        alone = ""
        if pair.left_out_a or pair.left_out_b:
            alone = (
                f" Rows of one run alone are left out: {count(pair.left_out_a)} of {short(pair.a)} and "
                f"{count(pair.left_out_b)} of {short(pair.b)}."
            )
        shared = f"All {count(pair.n_a)} rows that both runs have are compared"
        return f"{shared}; they were matched by {short(pair.matched_by)}.{alone}"


@dataclass(frozen=True)
class RunView:
    """A line of the table of runs."""

    numbers: RunNumbers
    made: str
    hidden: str


def run_view(run: RunNumbers) -> RunView:
    """Return a run's line: its data and condition, and its certified limit."""
    low, proven = lower_end(run.certificate.lower_bound_hidden), run.certificate.claims_hidden
    without = "found, size unknown" if proven else "none proven"
    data = Path(run.data).name if run.data else "rows in memory"
    made = f"{data}, where {run.where}" if run.where else data
    return RunView(run, made, lower_limit(low) if low and proven else without)


def pair_view(pair: RunPair, terms: Vocabulary, decimals: int) -> PairView:
    """Return what is drawn of a pair, in the words of its runs and with as many decimals as they need."""
    groups, nearer = pair.groups[:MAX_GROUPS], pair.nearer[:MAX_NEARER]
    # one axis for all hidden residuals of the page, one for all residuals
    hidden, residual = (
        _Drawing(pair, what, some, decimals)
        for what, some in (("hidden", (*pair.differences, *groups)), ("residual", nearer))
    )
    counts, axes = pair.nearer_counts, pair_axes(pair, decimals)
    better = pair.measures["calibration_error"].better
    return PairView(
        pair=pair,
        measures=[
            MeasureRow(name, one, _name(pair, one.better) or DASH, terms, decimals)
            for name, one in pair.measures.items()
        ],
        plots=[
            ReliabilityPlot("a", pair.a, pair.n_a, axes.dots(pair.curves.a)),
            ReliabilityPlot("b", pair.b, pair.n_b, axes.dots(pair.curves.b)),
        ],
        differences=[hidden.row(one) for one in pair.differences],
        groups=[hidden.row(one) for one in groups],
        more_groups=len(pair.groups) - len(groups),
        nearer=[residual.row(one) for one in nearer],
        more_nearer=counts.a + counts.b - len(nearer),
        counted=counts.a + counts.b + counts.neither,
        against=better is not None and any(one.nearer != better for one in nearer),
        terms=terms,
        axes=axes,
    )


def pair_axes(pair: RunPair, decimals: int) -> ProbabilityAxes:
    """Return the axes of both diagrams: in log-odds where rates are so low that numbers need more than a decimal."""
    if decimals == USUAL:
        return LINEAR_AXES
    curves = [one for one in (pair.curves.a, pair.curves.b) if one is not None]
    return log_odds_axes(value for curve in curves for value in (*curve.confidence, *curve.accuracy))


class _Drawing:
    """Groups drawn on one axis: of hidden residuals, or of residuals."""

    def __init__(self, pair: RunPair, measure: str, groups: Sequence[GroupPair], decimals: int) -> None:
        self.pair, self.measure, self.decimals = pair, measure, decimals
        sides = [side for one in groups for side in (one.a, one.b) if side]
        span = max([LEAST_SPAN * 10.0 ** (1 - decimals), *(abs(getattr(side, measure).value or 0.0) for side in sides)])
        self.axis = Scale(-1.15 * span, 1.15 * span, LEFT, RIGHT)

    def row(self, group: GroupPair) -> GroupRow:
        sides = (self._mark("a", group.a), self._mark("b", group.b))
        phrases = [f"{_name(self.pair, side.name)} {self._phrase(side.values)}" for side in sides]
        found = "both runs" if len(group.found_in) == 2 else _name(self.pair, next(iter(group.found_in), None)) or ""
        what = "Hidden residual" if self.measure == "hidden" else "Residual"
        return GroupRow(
            group=group,
            sides=sides,
            spoken=short(f"{what} of {group.description}: {', '.join(phrases)}", 300),
            found=found,
            ticks=[
                (self.axis(tick), points(tick, self.decimals - 1))
                for tick in round_ticks(self.axis.low, self.axis.high)
            ],
            zero=self.axis(0.0),
        )

    def _phrase(self, side: GroupSide | None) -> str:
        return "has no rows" if side is None else points(getattr(side, self.measure).value, self.decimals)

    def _mark(self, name: str, side: GroupSide | None) -> SideMark:
        measure = None if side is None else getattr(side, self.measure)
        if measure is None or measure.value is None:
            return SideMark(name, side, None, None)
        return SideMark(name, side, self.axis.inside(measure.value), self.axis.whisker(measure.interval))


def _name(pair: RunPair, side: str | None) -> str | None:
    return None if side is None else pair.a if side == "a" else pair.b
