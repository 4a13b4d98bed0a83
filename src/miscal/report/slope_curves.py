"""Small reliability curves: how often a group is right along its confidences, beside rows of equal confidence."""

from dataclasses import dataclass

from miscal.base.vocabulary import Vocabulary
from miscal.findings.ledger import ConfidenceBin, Finding
from miscal.findings.verdict import says
from miscal.report.drawing import Scale

X, Y = Scale(0.0, 1.0, 34.0, 214.0), Scale(0.0, 1.0, 120.0, 8.0)
TICKS = tuple((X(share), Y(share), f"{100 * share:.0f}") for share in (0, 0.5, 1))

TEMPLATE = """{% macro slope_curve(curve) %}
<figure class="slope">
<svg viewBox="0 0 222 150" role="img" aria-label="{{ curve.said }}">
{% for across, down, label in curve.ticks %}
<path class="grid" d="M{{ across }} {{ curve.y.start }}V{{ curve.y.stop }}M{{ curve.x.start }} {{ down }}H{{
curve.x.stop }}"/>
<text class="tick" x="{{ across }}" y="133" text-anchor="middle">{{ label }}</text>
<text class="tick" x="30" y="{{ down + 3.5 }}" text-anchor="end">{{ label }}</text>
{% endfor %}
<text class="axis" x="124" y="147" text-anchor="middle">{{ curve.across }}, %</text>
<text class="axis" transform="translate(9 64) rotate(-90)" text-anchor="middle">{{ curve.up }}, %</text>
<path class="diagonal" d="{{ curve.expected }}"/>
<path class="curve" d="{{ curve.own }}"/>
<path class="whisker" d="{{ curve.whiskers }}"/>
{% for dot in curve.dots %}
<circle class="dot" cx="{{ dot.x }}" cy="{{ dot.y }}" r="3.5"><title>{{ dot.bin.n | count }} rows: {{ curve.across }} {{
dot.bin.confidence | percent }}, {{ curve.up }} {{ dot.bin.accuracy.value | percent }} (95 % interval {{
dot.bin.accuracy.interval | bounds("percent") }}); rows of equal {{ curve.across }} {{ dot.bin.expected | percent
}}</title></circle>
{% endfor %}
</svg>
<figcaption>{{ curve.said }}. <span class="aside">Dashed: rows of equal {{ curve.across }}.</span></figcaption>
</figure>
{% endmacro %}
"""


@dataclass(frozen=True)
class SlopeDot:
    """A bin of the curve, and where it stands."""

    bin: ConfidenceBin
    x: float
    y: float


@dataclass(frozen=True)
class SlopeCurve:
    """The curve of a group as drawn: paths of its own rate, of its intervals, and of rows of equal confidence."""

    said: str
    dots: tuple[SlopeDot, ...]
    own: str
    expected: str
    whiskers: str
    across: str
    up: str
    x: Scale = X
    y: Scale = Y
    ticks: tuple[tuple[float, float, str], ...] = TICKS


def slope_curve(finding: Finding, words: Vocabulary) -> SlopeCurve | None:
    """Arrange the curve of a finding that is a slope; None for others.

    Parameters
    ----------
    finding : Finding
    words : Vocabulary
    """
    if not finding.curve:
        return None
    told = says(finding, words)
    rates = [(one, one.accuracy.value or 0.0) for one in finding.curve]
    ends = [(X(one.confidence), Y.whisker(one.accuracy.interval)) for one in finding.curve]
    return SlopeCurve(
        said=f"{told[0].upper()}{told[1:]}",
        dots=tuple(SlopeDot(one, X(one.confidence), Y(rate)) for one, rate in rates),
        own=_path([(one.confidence, rate) for one, rate in rates]),
        expected=_path([(one.confidence, one.expected) for one in finding.curve]),
        whiskers="".join(f"M{x} {span[0]}V{span[1]}" for x, span in ends if span),
        across=words.probability,
        up=words.rate,
    )


def _path(points: list[tuple[float, float]]) -> str:
    return "".join(f"{'L' if place else 'M'}{X(x)} {Y(y)}" for place, (x, y) in enumerate(points))
