"""Cards of the subregimes: what they are called, how far off, what they have in common, examples."""

from typing import Any, NamedTuple

from miscal.base.document import MeasureAgainstNull
from miscal.base.vocabulary import Vocabulary
from miscal.findings import EPSILON, Subregime
from miscal.report.drawing import Scale, reach_of
from miscal.report.examples import Example, Examples
from miscal.report.legend import REGIMES
from miscal.report.map_data import MAX_NAME
from miscal.report.source import Source

MAX_CARDS = 40
MAX_KEYWORDS = 10
MAX_ENRICHED = 4
MAX_TELLING, MAX_TYPICAL = 3, 2

#: Parts by the field that they were cut on, in the order of the page: what no diagram shows comes first.
TITLES = {
    "hidden": "Parts by what is hidden: {label} less or more often {than}",
    "total": "Parts by the whole field: {over_and_under}",
}

Line = tuple[str, MeasureAgainstNull, bool | None, bool]
"""The residual or a part of it: its label, the number, whether it is confirmed, and whether the rows were cut by it."""


class Card(NamedTuple):
    """A subregime as drawn, with its telling and its typical rows.

    `id` is what the map knows it by; `kind` its regime, ``"good"`` for one without a colour, and `label` what that is
    called; `confirmed` whether what it was cut by is; `side` its direction: -1 less, +1 more often right.
    """

    part: Subregime
    telling: list[Example]
    typical: list[Example]
    id: str
    kind: str
    label: str
    telling_label: str
    confirmed: bool
    side: int
    lines: list[Line]


def subregimes(source: Source) -> dict[str, Any]:
    """Return cards in the order of the summary, by the heading they stand under, drawn on one axis of residuals."""
    parts, terms = source.summary.subregimes[:MAX_CARDS], source.terms
    shown = (row for part in parts for row in (*part.telling[:MAX_TELLING], *part.exemplars[:MAX_TYPICAL]))
    examples = Examples(source, shown)
    numbers = (number for part in parts for number in (part.residual, part.visible, part.hidden) if number is not None)
    reach = reach_of(numbers, 2 * (source.epsilon or EPSILON))
    fills = {"label": terms.label, "than": terms.than_equal_rows(), "over_and_under": terms.over_and_under}
    grouped = {
        title.format(**fills): [part for part in parts if (part.field == "hidden") == (name == "hidden")]
        for name, title in TITLES.items()
    }
    return {
        "groups": {title: [_card(part, examples, terms) for part in some] for title, some in grouped.items() if some},
        "more": len(source.summary.subregimes) - len(parts),
        "reach": reach,
        "axis": Scale(-reach, reach, 4.0, 136.0),
        "keywords": MAX_KEYWORDS,
        "enriched": MAX_ENRICHED,
    }


def _card(part: Subregime, examples: Examples, terms: Vocabulary) -> Card:
    telling, typical = part.telling[:MAX_TELLING], part.exemplars[:MAX_TYPICAL]
    # one call, so that a text is told apart from every other text of its card
    shown = {one.row: one for one in examples.of(list(dict.fromkeys((*telling, *typical))))}
    # as what they are called says: the surest first where over, the least sure first elsewhere
    direction = -1 if part.parent == "over" else 1
    kind, by_hidden = part.parent if part.parent in REGIMES else "good", part.field == "hidden"
    label = terms.often_beside if by_hidden else terms.regime
    return Card(
        part=part,
        telling=sorted(
            (shown[row] for row in telling if row in shown), key=lambda one: (one.confidence or 0.0) * direction
        ),
        typical=[shown[row] for row in typical if row in shown and row not in telling],
        id=part.name[:MAX_NAME],
        kind=kind,
        label=label(part.parent).capitalize() if part.parent in REGIMES else part.parent,
        telling_label=terms.telling.get(kind, "telling").capitalize(),
        confirmed=part.confirmed_parts.hidden if by_hidden else part.confirmed,
        side=-1 if kind == "over" else 1,
        lines=_lines(part, by_hidden=by_hidden),
    )


def _lines(part: Subregime, *, by_hidden: bool) -> list[Line]:
    sure = part.confirmed_parts
    # a run from before they were told apart has the residual alone
    in_parts = part.visible is not None or part.hidden is not None
    lines = (
        ("total", part.residual, sure.total if in_parts else None, not by_hidden),
        ("visible", part.visible, sure.visible, False),
        ("hidden", part.hidden, sure.hidden, by_hidden),
    )
    return [line for line in lines if line[1] is not None]
