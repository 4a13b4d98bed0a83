"""Whether to trust it: alarms and warnings, how certain it is, how the run was made, and the words of the page."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from miscal.base.arrays import counted
from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit
from miscal.base.vocabulary import Vocabulary
from miscal.data.readers.column_readings import COORDINATE, ColumnReading
from miscal.discovery.summary import Columns, Selection, Summary
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report import formatting
from miscal.report.formatting import DASH, brief_points, change, count, first_sentence, metric, p_value, setting, short
from miscal.report.frame import Source, View, draw, later_rows, row_words
from miscal.report.legend import STAGES, key_label
from miscal.report.map_data import projection
from miscal.report.sheet import Column, Fold, Part, Table


def notes(source: Source) -> Fold | None:
    """Show the alarms, each its first sentence and the rest, and the warnings; nothing where there are none."""
    summary = source.summary
    alarms = [first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    if not alarms and not warnings:
        return None
    line = f"{counted(len(summary.warnings), 'note')} on the data and on how certain the numbers are"
    line = first_sentence(summary.alarms[0])[0] if summary.alarms else line
    return Fold("notes", "Before you trust this", line, [draw(source, "notes", alarms=alarms, warnings=warnings)])


def verdict(source: Source) -> Fold:
    """Show both limits, and the scores of all evaluation rows before and after the correction."""
    summary, terms, words = source.summary, source.terms, row_words(source.summary)
    proof, smece = summary.certificate, summary.global_.smece
    total = lower_end(proof.lower_bound_total)
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    limits = [
        # the size is in points where it is above zero and what it limits is proven
        View(label=label, quantity=f"mean absolute {what}", low=low, p_value=p, proven=proven,
             size=lower_limit(low) if proven and low else "")
        for label, what, low, p, proven in (
            ("Miscalibration", f"difference between the {terms.probability} and the {terms.chance}", total,
             smece.p_value if by_smece else proof.p_value_total, by_smece or bool(total)),
            ("Hidden miscalibration", f"miscalibration that the {terms.probability} alone does not explain",
             lower_end(proof.lower_bound_hidden), proof.p_value, proof.claims_hidden),
        )
    ]  # fmt: skip
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    body = draw(source, "verdict", summary=summary, limits=limits, before=before, after=after)
    line = f"Hidden error: {p_value(proof.p_value)} on {count(proof.n or words.n)} {words.rows}"
    return Fold("verdict", "How certain this is", line, [body])


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None


MAX_CANDIDATES = 60
#: Scores of a candidate, which stand last in the table; lower is better.
SCORES = ("proxy", "log_loss", "brier")

Fact = tuple[str, str]
"""A line of a list: what it is called, and its value in words."""


def making(source: Source) -> Fold:
    """Show lists of facts, the time of each stage, what columns were read as, and the table of candidates."""
    summary, terms = source.summary, source.terms
    selection, embedding = summary.selection, embedding_of(summary.columns)
    simple = {key: value for key, value in summary.settings.items() if not isinstance(value, Mapping)}
    # what was chosen is a list of its own
    nested = {key: value for key, value in summary.settings.items() if key not in simple and value != selection.chosen}
    facts = {
        "Data": _data(summary, terms),
        "Settings": _facts(simple, terms) or [("Settings", "none were recorded")],
        "What was chosen": _facts(selection.chosen, terms),
        "Map": [_fact("Laid out by", projection(summary.map.method))] if summary.map else [],
        "Software versions": [_fact(name, version) for name, version in summary.versions.items()],
        "Time taken": [
            (STAGES.get(key) or key_label(key, terms), formatting.seconds(t)) for key, t in summary.timing.items()
        ],
        "All other settings": _leaves(nested, terms),
    }  # fmt: skip
    needed = needed_of_new_rows(summary.data.columns)
    readings = [one for one in summary.columns if one.read_as != COORDINATE]
    tested = 0 if summary.findings_method is None else summary.findings_method.candidates
    line = f"{count(tested)} groups tested, method {summary.method}, seed {summary.seed}"
    return Fold("making", "How this was found", line, [
        *(Part(title, dict(rows)) for title, rows in facts.items() if rows),
        *([f"New rows need {needed} to be corrected."] if needed and summary.columns else []),
        *([embedding] if embedding else []),
        *([Part("Columns", Table(READINGS, readings))] if readings else []),
        *_candidates(selection, terms),
    ])  # fmt: skip


READINGS = (
    Column("column", lambda one: short(one.name, 60)),
    Column("read as", "read_as", number=False),
    Column("distinct values", "levels", count),
    Column("blank", "missing", count),
    Column("role", lambda one: one.role or "", number=False),
    Column("log loss without it", lambda one: change(one.cost_if_missing.value) if one.cost_if_missing else ""),
    Column("left out", lambda one: one.left_out or "", number=False),
)
"""What is shown of a column as it was read."""


def _candidates(selection: Selection, terms: Vocabulary) -> list[Any]:
    """Return the table of candidates, by settings first and scores last."""
    # the first candidates, and after them every chosen one
    first, rest = selection.candidates[:MAX_CANDIDATES], selection.candidates[MAX_CANDIDATES:]
    shown = [*first, *(candidate for candidate in rest if candidate.get("chosen"))]
    if not shown:
        return [Part("Candidates", "No candidates were compared in this run.")]
    keys = dict.fromkeys(key for candidate in selection.candidates for key in candidate if key != "chosen")
    ordered = sorted(keys, key=lambda key: SCORES.index(key) if key in SCORES else -1)
    columns = [
        *(Column(key_label(key, terms), partial(_cell, key, terms), number=key in SCORES) for key in ordered),
        Column("", lambda one: "chosen" if one.get("chosen") else "", number=False),
    ]
    left = len(selection.candidates) - len(shown)
    proxy = f"The proxy is the Brier score of {terms.probability} plus field on rows held back from learning."
    more = f" {count(left)} more candidates are listed in summary.json." if left else ""
    return [Part("Candidates", Table(columns, shown)), f"{proxy}{more}"]


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


def _cell(key: str, terms: Vocabulary, candidate: Mapping[str, Any]) -> str:
    value = candidate.get(key)
    if key in SCORES:
        return metric(value, 5)
    if key == "name" and isinstance(value, str):
        # estimators call their candidates by what they see of a row, whatever it is the probability of
        return short(value.replace("confidence", terms.probability), 60)
    return DASH if value is None else short(setting(value), 60)


def glossary(source: Source) -> Fold:
    """Say what each word and sign means, with the run's own threshold."""
    threshold = "the threshold" if source.epsilon is None else brief_points(source.epsilon)
    line = f"{source.terms.probability.capitalize()}, residual, field, regime and the others"
    return Fold("glossary", "Words and signs", line, [draw(source, "glossary", threshold=threshold)])


#: Columns that new rows need of which the names are written.
MOST_NEEDED = 10


def needed_of_new_rows(columns: Columns) -> str:
    """Say what new rows must have to be corrected; nothing where the run does not know it.

    Examples
    --------
    >>> used = {"confidence": "p", "correct": "y", "x": ("topic",), "text": None}
    >>> needed_of_new_rows(Columns(**used, needed=("p", "topic"), embeddings=True))
    "embeddings and the columns 'p', 'topic'"
    """
    if not columns.needed:
        return ""
    more = f", ... ({len(columns.needed)} in all)" if len(columns.needed) > MOST_NEEDED else ""
    shown = ", ".join(map(repr, columns.needed[:MOST_NEEDED]))
    word = "column" if len(columns.needed) == 1 else "columns"
    return f"{'embeddings and ' if columns.embeddings else ''}the {word} {shown}{more}"


def embedding_of(columns: Sequence[ColumnReading]) -> str:
    """Name the columns that are the coordinates of an embedding, which say nothing one by one; empty without any.

    Examples
    --------
    >>> embedding_of([ColumnReading(f"x_{j}", COORDINATE, 90, 0) for j in range(64)])
    'x_0 to x_63 (an embedding of 64 columns)'
    """
    names = [one.name for one in columns if one.read_as == COORDINATE and one.left_out is None]
    return f"{names[0]} to {names[-1]} (an embedding of {len(names):,} columns)" if names else ""
