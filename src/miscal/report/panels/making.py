"""How the run was made: data, settings, candidates, versions, timing; and the words and signs of the page."""

from collections.abc import Mapping
from typing import Any

from miscal.base.vocabulary import Vocabulary
from miscal.data.readers.column_readings import COORDINATE
from miscal.discovery.summary import Selection, Summary
from miscal.report.formatting import DASH, brief_points, finite
from miscal.report.legend import PANES, STAGES, key_label
from miscal.report.map_data import projection
from miscal.report.source import Source
from miscal.report.texts import embedding_of, later_rows, needed_of_new_rows, setting, short

MAX_CANDIDATES = 60
#: Scores of a candidate, which stand last in the table; lower is better.
SCORES = ("proxy", "log_loss", "brier")

Fact = tuple[str, str]
"""A line of a list: what it is called, and its value in words."""


def making(source: Source) -> dict[str, Any]:
    """Return lists of facts, the time of each stage, and the table of candidates.

    A stage has a label, its seconds, and these in percent of the longest. Columns are keys of candidates with their
    heads; a candidate is whether it was chosen, and the text of each column.
    """
    summary, terms = source.summary, source.terms
    selection = summary.selection
    # the first candidates, and after them every chosen one
    first, rest = selection.candidates[:MAX_CANDIDATES], selection.candidates[MAX_CANDIDATES:]
    shown = [*first, *(candidate for candidate in rest if candidate.get("chosen"))]
    columns = _columns(selection, terms)
    simple = {key: value for key, value in summary.settings.items() if not isinstance(value, Mapping)}
    # what was chosen is a list of its own
    nested = {key: value for key, value in summary.settings.items() if key not in simple and value != selection.chosen}
    made = {"learned": summary.map.learned_method, "raw": summary.map.raw_method} if summary.map else {}
    return {
        "data": _data(summary, terms),
        "settings": _facts(simple, terms),
        "details": _leaves(nested, terms),
        "lists": {
            "What was chosen": _facts(selection.chosen, terms),
            "Map": [_fact(PANES[name], projection(method)) for name, method in made.items()],
            "Software versions": [_fact(name, version) for name, version in summary.versions.items()],
        },
        "stages": _stages(summary.timing, terms),
        "readings": [one for one in summary.columns if one.read_as != COORDINATE],
        "embedding": embedding_of(summary.columns),
        "needed": needed_of_new_rows(summary.data.columns),
        "columns": columns,
        "candidates": [
            (bool(candidate.get("chosen")), {column: _cell(candidate.get(column), column, terms) for column in columns})
            for candidate in shown
        ],
        "left": len(selection.candidates) - len(shown),
        "scores": SCORES,
    }


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
        return f"{later_rows(summary):,} of them judged by what was learned of earlier ones"
    return ", ".join(used) or "each in one fold: learned from in all others, and judged in its own"


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


def _columns(selection: Selection, terms: Vocabulary) -> dict[str, str]:
    """Return what candidates are listed by, with its head: settings first, scores last."""
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


def glossary(source: Source) -> dict[str, Any]:
    """Return the run's own threshold; its template says what each word and sign means."""
    return {"threshold": "the threshold" if source.epsilon is None else brief_points(source.epsilon)}
