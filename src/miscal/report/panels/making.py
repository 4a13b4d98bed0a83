"""How the run was made: data, settings, candidates, versions, timing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.data.column_reading import COORDINATE, ColumnReading
from miscal.discovery.summary import Selection, Summary
from miscal.report.formatting import DASH, finite
from miscal.report.legend import PANES, STAGES, key_label
from miscal.report.map_data import projection
from miscal.report.panel import Panel
from miscal.report.row_wording import embedding_of, later_rows, needed_of_new_rows
from miscal.report.source import Source
from miscal.report.texts import setting, short

MAX_CANDIDATES = 60
#: Scores of a candidate, which stand last in the table; lower is better.
SCORES = ("proxy", "log_loss", "brier")

TEMPLATE = """
{% macro facts(rows) %}
<dl class="facts wide">
{% for label, text in rows %}
<dt title="{{ label | short(200) }}">{{ label | short(60) }}</dt><dd>{{ text }}</dd>
{% endfor %}
</dl>
{% endmacro %}
<div class="halves">
<div><h3>Data</h3>{{ facts(view.data) }}</div>
<div><h3>Settings</h3>
{{ facts(view.settings) if view.settings else "No settings were recorded." }}
{% if view.details %}
<details><summary>All other settings</summary>{{ facts(view.details) }}</details>
{% endif %}
</div>
{% if view.chosen %}
<div><h3>What was chosen</h3>{{ facts(view.chosen) }}</div>
{% endif %}
{% if view.map %}
<div><h3>Map</h3>{{ facts(view.map) }}</div>
{% endif %}
{% if view.versions %}
<div><h3>Software versions</h3>{{ facts(view.versions) }}</div>
{% endif %}
{% if view.stages %}
<div><h3>Time taken</h3>
<table class="timing"><tbody>
{% for label, seconds, width in view.stages %}
<tr><th scope="row" title="{{ label | short(200) }}">{{ label | short(40) }}</th>
<td class="number">{{ seconds | seconds }}</td>
<td class="bar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="time" x="0" y="1"
width="{{ width }}" height="6"/></svg></td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
</div>
{% if view.readings or view.embedding %}
<h3>Columns</h3>
{% if view.needed %}<p class="lead">New rows need {{ view.needed }} to be corrected.</p>{% endif %}
{% if view.embedding %}<p>{{ view.embedding }}</p>{% endif %}
{% if view.readings %}
<div class="scroll" tabindex="0" role="region" aria-label="Columns">
<table class="candidates">
<thead><tr><th scope="col">column</th><th scope="col">read as</th><th scope="col" class="number">distinct values</th>
<th scope="col" class="number">blank</th><th scope="col">role</th>
<th scope="col" class="number">log loss without it</th><th scope="col"></th></tr></thead>
<tbody>
{% for one in view.readings %}
<tr><td title="{{ one.name | short(200) }}">{{ one.name | short(60) }}</td><td>{{ one.read_as }}</td>
<td class="number">{{ one.levels | count }}</td><td class="number">{{ one.missing | count }}</td>
<td>{{ one.role or "" }}</td>
<td class="number">{{ "%+.4f" | format(one.cost_if_missing.value) if one.cost_if_missing }}</td>
<td>{{ "left out: " ~ one.left_out | short(120) if one.left_out }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% endif %}
{% endif %}
<h3>Candidates</h3>
{% if view.candidates %}
<p class="lead">{{ words.candidates }} The proxy is the Brier score
of {{ terms.probability }} plus field on rows that were held back from learning.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Candidates">
<table class="candidates">
<thead><tr>{% for column, label in view.columns.items() %}
<th scope="col"{% if column in view.scores %} class="number"{% endif %}>{{ label | short(40) }}</th>{% endfor %}
<th scope="col"></th></tr></thead>
<tbody>
{% for chosen, cells in view.candidates %}
<tr{% if chosen %} class="chosen-row"{% endif %}>
{% for column, text in cells.items() %}
<td{% if column in view.scores %} class="number"{% endif %}>{{ text }}</td>
{% endfor %}
<td>{{ "chosen" if chosen }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% if view.hidden > 0 %}
<p class="caption">{{ view.hidden | count }} more candidates are listed in summary.json.</p>
{% endif %}
{% else %}
<p class="empty">No candidates were compared in this run.</p>
{% endif %}
"""


Fact = tuple[str, str]
"""A line of a list: what it is called, and its value in words."""


@dataclass(frozen=True)
class MakingView:
    """Lists of facts, the time of each stage, and the table of candidates.

    A stage has a label, its seconds, and these in percent of the longest. Columns are keys of candidates with their
    heads; a candidate is whether it was chosen, and the text of each column.
    """

    data: list[Fact]
    settings: list[Fact]
    details: list[Fact]
    chosen: list[Fact]
    map: list[Fact]
    versions: list[Fact]
    stages: list[tuple[str, float, float]]
    readings: tuple[ColumnReading, ...]
    embedding: str
    needed: str
    columns: dict[str, str]
    candidates: list[tuple[bool, dict[str, str]]]
    hidden: int
    scores: tuple[str, ...] = SCORES


def view(source: Source) -> MakingView:
    """Return how the run was made."""
    summary, terms = source.summary, vocabulary(source.summary.kind)
    selection = summary.selection
    # the first candidates, and after them every chosen one
    shown = [
        *selection.candidates[:MAX_CANDIDATES],
        *(candidate for candidate in selection.candidates[MAX_CANDIDATES:] if candidate.get("chosen")),
    ]
    columns = _columns(selection, terms)
    simple = {key: value for key, value in summary.settings.items() if not isinstance(value, Mapping)}
    # what was chosen is a list of its own
    nested = {key: value for key, value in summary.settings.items() if key not in simple and value != selection.chosen}
    made = {"learned": summary.map.learned_method, "raw": summary.map.raw_method} if summary.map else {}
    return MakingView(
        data=_data(summary, terms),
        settings=_facts(simple, terms),
        details=_leaves(nested, terms),
        chosen=_facts(selection.chosen, terms),
        map=[_fact(PANES[name], projection(method)) for name, method in made.items()],
        versions=[_fact(name, version) for name, version in summary.versions.items()],
        stages=_stages(summary.timing, terms),
        readings=tuple(one for one in summary.columns if one.read_as != COORDINATE),
        embedding=embedding_of(summary.columns),
        needed=needed_of_new_rows(summary.data.columns),
        columns=columns,
        candidates=[
            (bool(candidate.get("chosen")), {column: _cell(candidate.get(column), column, terms) for column in columns})
            for candidate in shown
        ],
        hidden=len(selection.candidates) - len(shown),
    )


def _data(summary: Summary, terms: Vocabulary) -> list[Fact]:
    data, columns = summary.data, summary.data.columns
    named = {
        terms.probability: columns.confidence,
        "outcome": columns.correct,
        "inputs": columns.x,
        "text": columns.text,
        "metadata": columns.metadata,
    }
    return [
        ("Rows", f"{summary.n:,} ({_use(summary)})"),
        _fact("File", data.path),
        _fact("SHA-256", data.sha256),
        _fact("Source of the inputs", data.x_source),
        _fact("Numbers per input", data.n_features),
        *(_fact(f"Column of {name}", value) for name, value in named.items() if value),
    ]


def _use(summary: Summary) -> str:
    """Say what the rows were used for."""
    sizes = {"training": summary.n_train, "validation": summary.n_val, "testing": summary.n_test}
    used = [f"{n:,} for {name}" for name, n in sizes.items() if n is not None]
    if summary.evidence == "time":
        return f"{later_rows(summary):,} of them told by what was learned of earlier ones"
    return ", ".join(used) or "each in one fold: learned from in all others, and told in its own"


def _fact(label: str, value: Any) -> Fact:
    return label, short(setting(value), 600)


def _facts(values: Mapping[str, Any], terms: Vocabulary) -> list[Fact]:
    return [_fact(key_label(key, terms), value) for key, value in values.items()]


def _leaves(values: Mapping[str, Any], terms: Vocabulary, above: str = "") -> list[Fact]:
    """Facts of nested settings, each under its whole name."""
    facts = []
    for key, value in values.items():
        label = f"{above}{key_label(key, terms)}"
        facts += _leaves(value, terms, f"{label}: ") if isinstance(value, Mapping) else [_fact(label, value)]
    return facts


def _stages(timing: dict[str, float], terms: Vocabulary) -> list[tuple[str, float, float]]:
    parts = {key: value for key, value in timing.items() if key != "total"}
    longest = max(parts.values(), default=0.0)
    return [
        (
            STAGES.get(key) or key_label(key, terms),
            value,
            round(100 * value / longest, 1) if key in parts and longest > 0 else 0.0,
        )
        for key, value in timing.items()
    ]


def _shown(selection: Selection) -> list[dict[str, Any]]:
    """Return the first candidates, and after them every chosen one."""
    first, rest = selection.candidates[:MAX_CANDIDATES], selection.candidates[MAX_CANDIDATES:]
    return [*first, *(candidate for candidate in rest if candidate.get("chosen"))]


def _columns(selection: Selection, terms: Vocabulary) -> dict[str, str]:
    """Return what candidates are told by, with its head: settings first, scores last."""
    keys = dict.fromkeys(key for candidate in selection.candidates for key in candidate if key != "chosen")
    settings = [key for key in keys if key not in SCORES]
    return {key: key_label(key, terms) for key in (*settings, *(key for key in SCORES if key in keys))}


def _cell(value: Any, column: str, terms: Vocabulary) -> str:
    if column in SCORES:
        return DASH if finite(value) is None else f"{value:.5f}"
    if column == "name" and isinstance(value, str):
        # estimators call their candidates by what they see of a row, whatever it is the probability of
        return short(value.replace("confidence", terms.probability), 60)
    return DASH if value is None else short(setting(value), 60)


PANEL = Panel("making", "How this report was made", view, TEMPLATE, contents="Method")
