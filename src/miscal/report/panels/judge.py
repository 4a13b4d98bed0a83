"""The judge: how often people would approve, of all answers, of the findings and of each value of a column."""

from dataclasses import dataclass

from miscal.base.number_wording import percent
from miscal.discovery.summary_parts import GroupRate, JudgeNumbers, Rate
from miscal.discovery.wording import LACKING, ranks, rate_sentence, scale_sentence
from miscal.report.judge_facts import model_rates
from miscal.report.panel import Panel
from miscal.report.source import Source

TEMPLATE = """<p class="lead">{{ view.lead }}{% if view.scale %} {{ view.scale }}{% endif %}</p>
{% for title, rows in view.tables %}
<h3>{{ title }}</h3>
<table class="values sortable">
<thead><tr><th scope="col">Answers</th><th scope="col" class="number">How many</th>
<th scope="col" class="number">Judged by people</th><th scope="col" class="number">People would approve</th>
{% if title == view.models %}<th scope="col" class="number">Rank</th>{% endif %}
<th scope="col" class="number">The judge says</th><th scope="col" class="number">Verdicts of people alone</th>
{% if view.passes %}<th scope="col" class="number">Rogan and Gladen</th>{% endif %}</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row" data-key="{{ row.name | lower }}">{{ row.name | short(80) }}</th>
<td class="number" data-label="How many" data-number data-key="{{ row.rate.n }}">{{ row.rate.n | count }}</td>
<td class="number" data-label="Judged by people" data-number data-key="{{ row.rate.n_labelled }}">{{
row.rate.n_labelled | count }}</td>
{% for label, rate in view.rates(row) %}
<td class="number" data-label="{{ label }}" data-number data-key="{{ -1 if rate is none or rate.estimate is none else
rate.estimate }}">{% if rate is none or rate.estimate is none %}–{% else %}{% if loop.first %}<b>{{
view.percent(rate) }}</b>{% else %}{{ view.percent(rate) }}{% endif %} <span class="aside low-to-high">{{
view.interval(rate) }}</span>{% endif %}</td>
{% if loop.first and title == view.models %}<td class="number" data-label="Rank" data-number data-key="{{
row.ranks[0] if row.ranks else 999 }}">{{ view.ranks(row) or "–" }}</td>{% endif %}
{% endfor %}</tr>
{% endfor %}
</tbody>
</table>
{% endfor %}
<p class="caption">People would approve: prediction-powered inference on the corrected judge (Angelopoulos et al.,
2023), which uses the verdicts of people where there are some and the judge everywhere. It holds whatever the judge is
worth, if the answers that people have judged were chosen at random{% if view.unequal %}, with the probabilities that
were given{% endif %}. Intervals are at 95&nbsp;%, each for its own row. The judge's own rate is right only where the
judge is.{% if view.ranked %} Ranks hold for all models at once, at 95&nbsp;%: models whose ranks overlap may be
tied.{% endif %}{% for reason in view.reasons %} A dash in place of an interval: {{ reason }}.{% endfor %}</p>
"""

BY_MODEL = "By model"
"""Heading of the table of models."""


@dataclass(frozen=True)
class JudgeView:
    """What the section shows."""

    numbers: JudgeNumbers
    lead: str
    scale: str
    tables: tuple[tuple[str, tuple[GroupRate, ...]], ...]
    unequal: bool
    models = BY_MODEL

    @property
    def passes(self) -> bool:
        """Whether the judge passes or fails answers."""
        return self.numbers.whole.rogan_gladen is not None

    @property
    def reasons(self) -> list[str]:
        """Why some rates have no interval."""
        rates = [rate for _, rows in self.tables for row in rows for _, rate in self.rates(row) if rate is not None]
        return sorted({LACKING[rate.lacking] for rate in rates if rate.lacking is not None})

    @property
    def ranked(self) -> bool:
        """Whether models are ranked."""
        return any(row.ranks is not None for _, rows in self.tables for row in rows)

    def ranks(self, row: GroupRate) -> str:
        """Write the ranks of a model."""
        return ranks(row)

    def rates(self, row: GroupRate) -> list[tuple[str, Rate | None]]:
        """Return the estimates of a row, with their headings."""
        told: list[tuple[str, Rate | None]] = [
            ("People would approve", row.rate),
            ("The judge says", row.judge),
            ("Verdicts of people alone", row.labelled),
        ]
        return [*told, ("Rogan and Gladen", row.rogan_gladen)] if self.passes else told

    def percent(self, rate: Rate) -> str:
        """Write a rate."""
        return percent(rate.estimate or 0.0, 1)

    def interval(self, rate: Rate) -> str:
        """Write its interval, a dash where there is none."""
        if rate.interval is None:
            return "–"
        low, high = rate.interval
        return f"{percent(low, 1).removesuffix(' %')} to {percent(high, 1)}"


def view(source: Source) -> JudgeView | None:
    """Return what is shown of a judge; None of a run that has none."""
    numbers = source.summary.judge
    if numbers is None:
        return None
    findings = tuple(one for one in numbers.groups if one.finding is not None)
    models = tuple(model_rates(numbers))
    others = tuple(one for one in numbers.groups if one.finding is None and one not in models)
    tables = ("All answers", (numbers.whole,)), (BY_MODEL, models), ("Where the judge errs", findings)
    tables = (*tables, ("By value of the other columns", others))
    return JudgeView(
        numbers,
        rate_sentence(numbers),
        scale_sentence(numbers),
        tuple((title, rows) for title, rows in tables if rows),
        bool(source.summary.settings.get("source", {}).get("options", {}).get("labelling_probability")),
    )


PANEL = Panel("judge", "How often people would approve", view, TEMPLATE, contents="People")
