"""Small pictures of trends: how much more often rows are right than rows of equal confidence, along a column."""

from dataclasses import dataclass

from miscal.base.vocabulary import Vocabulary
from miscal.findings.conditions import Missing, Trend
from miscal.findings.ledger import ColumnValue, Finding
from miscal.report.drawing import Scale
from miscal.report.formatting import points
from miscal.report.source import Source
from miscal.report.texts import clean

LEFT, RIGHT, TOP, BOTTOM = 34.0, 214.0, 8.0, 104.0
_LEAST_REACH = 0.05

TEMPLATE = """{% macro trend_picture(picture) %}
<figure class="slope">
<svg viewBox="0 0 222 134" role="img" aria-label="{{ picture.said }}">
{% for down, label in picture.ticks %}
<path class="{{ "zero" if label == "0" else "grid" }}" d="M34 {{ down }}H214"/>
<text class="tick" x="30" y="{{ down + 3.5 }}" text-anchor="end">{{ label }}</text>
{% endfor %}
<path class="curve" d="{{ picture.path }}"/>
<path class="whisker" d="{{ picture.whiskers }}"/>
{% for dot in picture.dots %}
<circle class="dot" cx="{{ dot.x }}" cy="{{ dot.y }}" r="3.5"><title>{{ dot.bin.value }}: {{ dot.bin.n | count }}
rows, {{ dot.bin.hidden.value | points }} points ({{ dot.bin.hidden.interval | bounds }})</title></circle>
{% endfor %}
<text class="tick" x="34" y="117">{{ picture.dots[0].bin.value }}</text>
<text class="tick" x="214" y="117" text-anchor="end">{{ picture.dots[-1].bin.value }}</text>
<text class="axis" x="124" y="131" text-anchor="middle">{{ picture.column }}</text>
</svg>
<figcaption>{{ picture.said }}. <span class="aside">Points above and below rows of equal {{ picture.across }}, by tenths
of the rows, with 95&nbsp;% intervals.</span></figcaption>
</figure>
{% endmacro %}
"""


@dataclass(frozen=True)
class TrendDot:
    """A bin of the column, and where it stands."""

    bin: ColumnValue
    x: float
    y: float


@dataclass(frozen=True)
class TrendPicture:
    """A trend as drawn."""

    column: str
    said: str
    across: str
    dots: tuple[TrendDot, ...]
    path: str
    whiskers: str
    ticks: tuple[tuple[float, str], ...]


def trend_picture(finding: Finding, source: Source, words: Vocabulary) -> TrendPicture | None:
    """Arrange the picture of a finding that is a trend; None for others, and where the run has no table of its column.

    Parameters
    ----------
    finding : Finding
    source : Source
        Of the run: the values of the column are those of its table.
    words : Vocabulary
        Of the kind of its probability.
    """
    if not isinstance(finding.condition, Trend):
        return None
    column = clean(finding.condition.column)
    bins = [one for one in source.columns.get(column, ()) if not isinstance(one.condition, Missing)]
    bins = [one for one in bins if one.hidden.value is not None]
    if len(bins) < 2:
        return None
    ends = [abs(end) for one in bins for end in (one.hidden.value, *(one.hidden.interval or ())) if end is not None]
    reach = max([_LEAST_REACH, *ends])
    x, y = Scale(0, len(bins) - 1, LEFT + 6, RIGHT - 6), Scale(-reach, reach, BOTTOM, TOP)
    dots = tuple(TrendDot(one, x(place), y(one.hidden.value or 0.0)) for place, one in enumerate(bins))
    spans = [(dot.x, y.whisker(dot.bin.hidden.interval)) for dot in dots]
    return TrendPicture(
        column=column,
        said=trend_words(finding, finding.condition, words),
        across=words.probability,
        dots=dots,
        path="".join(f"{'L' if place else 'M'}{dot.x} {dot.y}" for place, dot in enumerate(dots)),
        whiskers="".join(f"M{at} {span[0]}V{span[1]}" for at, span in spans if span),
        ticks=tuple((y(share * reach), points(share * reach, 0)) for share in (-1, 0, 1)),
    )


def trend_words(finding: Finding, condition: Trend, words: Vocabulary) -> str:
    """Say a trend: ``"The higher age is, the less often the model is right"``."""
    often = "less" if finding.sign == "over" else "more"
    return f"The {condition.higher} is, the {often} often {words.comes_true()}"
