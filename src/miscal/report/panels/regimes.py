"""The regimes by the whole field and by the hidden one: accuracy, confidence, residual = visible + hidden."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import Vocabulary
from miscal.calibration.metrics import MIN_SLICE_ROWS
from miscal.discovery.summary import Regime, SmoothEce, Summary
from miscal.report.drawing import Scale, axes_of
from miscal.report.examples import Examples
from miscal.report.formatting import brief_points
from miscal.report.legend import ALL_ROWS, REGIMES, regime_labels, regime_names
from miscal.report.row_wording import slices
from miscal.report.source import Source


class Places(NamedTuple):
    """Where the accuracy, what it is compared with, and the interval of the difference stand."""

    accuracy: float | None
    against: float | None
    whisker: tuple[float, float] | None


@dataclass(frozen=True)
class RegimeRow:
    """A line of a table: the numbers of a regime, or of all rows, and where they stand on the axis.

    `against` is what the accuracy is compared with: the confidence, or the accuracy of rows of equal confidence;
    `drawn` is the difference from it.
    """

    label: str
    numbers: Regime
    against: float | None
    drawn: Measure

    @property
    def kind(self) -> str:
        """Its regime; ``"all"`` for all rows, and for a regime without a colour."""
        return self.numbers.name if self.numbers.name in REGIMES else "all"

    @property
    def share(self) -> float | None:
        """Its share of the rows; None for all of them."""
        return None if self.numbers.name == "all" else self.numbers.share

    @property
    def sided(self) -> int:
        """The direction that its residual claims: -1 over, +1 under, 0 none."""
        return {"over": -1, "under": 1}.get(self.kind, 0)

    @property
    def few(self) -> bool:
        """Whether it has too few rows for its residual to be measured."""
        return self.share is not None and self.numbers.n < MIN_SLICE_ROWS

    def on(self, axis: Scale) -> Places:
        """Return where its numbers stand on an axis."""
        accuracy, against = self.numbers.accuracy, self.against
        return Places(
            accuracy=None if accuracy is None else axis.inside(accuracy),
            against=None if against is None else axis.inside(against),
            whisker=None if against is None else axis.whisker(self.drawn.interval, against),
        )


def regimes(source: Source) -> dict[str, Any]:
    """Return a line per regime that has rows, after one for all rows; and one per regime of the hidden field."""
    summary, names, terms = source.summary, source.regime_names, source.terms
    rows, whole = regime_rows(source), slices(summary)
    found = {row.numbers.name for row in rows["rows"]}
    return {
        **rows,
        "contents": _contents(source),
        "missing": [label.lower() for name, label in names.items() if name not in found],
        "nowhere": not found & {"over", "under"},
        "whole": names[whole.whole].lower() if whole.whole in ("over", "under") else "",
        "whole_share": whole.share,
        "unsupported": summary.field.share_unsupported,
        # regimes share all rows among them where no row is left to the global map
        "kept": sum(regime.share for regime in summary.regimes) > 0.9995,
        "epsilon": source.epsilon,
        "beyond": "far" if source.epsilon is None else f"more than {brief_points(source.epsilon)}",
        "axes": axes_of(summary),
        "gap": summary.gap,
        "worst": terms.regime(summary.gap.worst) if summary.gap.worst else "worse",
    }


def _contents(source: Source) -> list[tuple[Any, ...]]:
    """Return of each regime what it is called, which values and words are enriched in it, and typical rows."""
    filled = [one for one in _filled(source.summary.regimes) if one.exemplars]
    examples = Examples(source, (row for one in filled for row in one.exemplars))
    return [
        (
            source.regime_names.get(one.name, one.name),
            [f"{item.words} ({item.lift:.1f} times)" for item in one.metadata],
            list(one.keywords),
            examples.of(one.exemplars),
        )
        for one in filled
    ]


def regime_rows(source: Source) -> dict[str, Any]:
    """Return the lines of both tables, and whether the run tells visible and hidden parts of its regimes."""
    summary, names = source.summary, source.regime_names
    rows = [
        _all_row(summary),
        *(_row(regime, names.get(regime.name, regime.name)) for regime in _filled(summary.regimes)),
    ]
    hidden = [_hidden_row(regime, source) for regime in _filled(summary.hidden_regimes)]
    return {"rows": rows, "hidden_rows": hidden, "parts": any(row.numbers.visible is not None for row in rows)}


def _filled(regimes: tuple[Regime, ...]) -> list[Regime]:
    order = {name: place for place, name in enumerate(REGIMES)}
    return sorted((regime for regime in regimes if regime.n), key=lambda one: order.get(one.name, len(order)))


def _measured(regime: Regime) -> Regime:
    """Leave out what so few rows cannot tell."""
    if regime.n >= MIN_SLICE_ROWS:
        return regime
    nothing = MeasureAgainstNull(value=None)
    parts = {name: nothing for name in ("visible", "hidden") if getattr(regime, name) is not None}
    return regime.model_copy(update={"residual": nothing, "smece": SmoothEce(value=None), **parts})


def _row(regime: Regime, label: str) -> RegimeRow:
    regime = _measured(regime)
    return RegimeRow(label, regime, against=regime.confidence, drawn=regime.residual)


def _hidden_row(regime: Regime, source: Source) -> RegimeRow:
    """Return the line of a hidden regime: its accuracy stands against that of rows of equal confidence."""
    label = _hidden_label(regime, source.epsilon, source.terms)
    regime = _measured(regime)
    known = regime.hidden is not None and None not in (regime.hidden.value, regime.accuracy)
    expected = regime.accuracy - regime.hidden.value if known else None
    return RegimeRow(label, regime, against=expected, drawn=regime.hidden or Measure(value=None))


def _hidden_label(regime: Regime, epsilon: float | None, terms: Vocabulary) -> str:
    """Return what a hidden regime is called: not "about as often" where it differs from zero all the same."""
    band = regime_names(regime.hidden and regime.hidden.p_value, epsilon, terms)["good"]
    if regime.name == "good" and band != regime_labels(terms)["good"]:
        return band
    return terms.often(regime.name).capitalize() if regime.name in REGIMES else regime.name


def _all_row(summary: Summary) -> RegimeRow:
    accuracy, confidence = summary.global_.accuracy.value, summary.global_.confidence.value
    # the mean residual of all rows: the difference of two means that the summary gives
    residual = None if accuracy is None or confidence is None else accuracy - confidence
    whole = Regime(
        name="all",
        n=summary.n,
        share=1.0,
        accuracy=accuracy,
        confidence=confidence,
        residual=MeasureAgainstNull(value=residual),
        smece=summary.global_.smece,
        brier=summary.global_.brier.value,
    )
    return RegimeRow(ALL_ROWS, whole, against=confidence, drawn=Measure(value=None))
