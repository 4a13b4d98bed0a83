"""Put panels, styles and programs together into the page, and write it.

A panel is a function from a run to its section of the page, a fold, or None where it has nothing to say; and its line
in the list here. A section holds blocks, as every fold does, or what :func:`miscal.report.frame.draw` makes of its
template in ``assets/panels``. Here are those that say whether to trust the others: alarms and warnings, how certain it
is, how the run was made, and the words of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from miscal.base.arrays import counted
from miscal.base.files import replace_file
from miscal.base.number_wording import lower_limit
from miscal.base.vocabulary import Vocabulary
from miscal.data.readers.column_readings import COORDINATE, ColumnReading
from miscal.discovery.summary import Columns, Selection, Summary
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report import formatting
from miscal.report.brief import WIDER
from miscal.report.decision_panels import alone, classes, decisions, judge
from miscal.report.field_panels import corrections, histogram, over_time, regimes, reliability
from miscal.report.formatting import DASH, change, count, lower_end, metric, p_value, seconds, setting, short
from miscal.report.frame import Source, View, draw, later_rows, page_words, read_source, render_page, row_words
from miscal.report.group_panels import answer, columns, findings
from miscal.report.map_data import atlas, projection
from miscal.report.sheet import Column, Fold, Part, Table


def notes(source: Source) -> Fold | None:
    """Show the alarms, each its first sentence and the rest, and the warnings; nothing where there are none."""
    summary = source.summary
    alarms = [formatting.first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    if not alarms and not warnings:
        return None
    line = f"{counted(len(summary.warnings), 'note')} on the data and on how certain the numbers are"
    line = formatting.first_sentence(summary.alarms[0])[0] if summary.alarms else line
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
        View(label=label, quantity=f"mean absolute {what}", low=low, p_value=chance, proven=proven,
             size=lower_limit(low) if proven and low else "")
        for label, what, low, chance, proven in (
            ("Miscalibration", f"difference between the {terms.probability} and the {terms.chance}", total,
             smece.p_value if by_smece else proof.p_value_total, by_smece or bool(total)),
            ("Hidden miscalibration", f"miscalibration that the {terms.probability} alone does not explain",
             lower_end(proof.lower_bound_hidden), proof.p_value, proof.claims_hidden),
        )
    ]  # fmt: skip
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    body = draw(source, "verdict", summary=summary, limits=limits, before=before, after=after)
    line = f"Hidden error: {p_value(proof.p_value)} on {count(proof.n or words['n'])} {words['rows']}"
    return Fold("verdict", "How certain this is", line, [body])


MAX_CANDIDATES = 60
#: Scores of a candidate, which stand last in the table; lower is better.
SCORES = ("proxy", "log_loss", "brier")

#: Settings, scores of candidates and stages of a run by their keys; keys that are not here are shown as they are.
KEYS = {
    "seed": "Random seed",
    "epsilon": "Threshold of the regimes",
    "level": "Significance level",
    "global_map": "Map of the {probability} alone",
    "confidence": "{probability}",
    "correct": "Outcome",
    "structure": "Local structure found",
    "gain": "Gain in log loss per row",
    "gain_error": "Standard error of the gain",
    "score": "Score test of local structure (z)",
    "pairs": "Pair of values beyond chance",
    "sigma": "Kernel width (sigma)",
    "lambda": "Weight of the mass penalty (lambda)",
    "alpha": "Strength of the correction (alpha)",
    "epoch": "Chosen epoch",
    "n_epochs": "Epochs",
    "name": "Candidate",
    "brier": "Brier score",
}


STAGES = {
    "read": "Reading the data",
    "split": "Splitting the rows",
    "field": "Learning the field",
    "regimes": "Finding the regimes",
    "corrections": "Fitting the corrections",
    "answer": "Testing what is claimed",
    "measures": "Measuring the rows",
    "map": "Making the map",
}


def key_label(key: str, terms: Vocabulary) -> str:
    """Return what a key of the settings is called on the page.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> words = vocabulary("answer")
    >>> key_label("seed", words), key_label("on_invalid", words), key_label("global_map", words)
    ('Random seed', 'On invalid', 'Map of the confidence alone')
    """
    label = KEYS.get(key, key.replace("_", " ")).replace("{probability}", terms.probability)
    return label[:1].upper() + label[1:]


def making(source: Source) -> Fold:
    """Show lists of facts, the time of each stage, what columns were read as, and the table of candidates."""
    summary, terms = source.summary, source.terms
    selection, embedding = summary.selection, embedding_of(summary.columns)
    simple = {key: value for key, value in summary.settings.items() if not isinstance(value, Mapping)}
    # what was chosen is a list of its own
    nested = {key: value for key, value in summary.settings.items() if key not in simple and value != selection.chosen}
    facts = {
        "Data": _data(summary, terms),
        "Settings": _leaves(simple, terms) or {"Settings": "none were recorded"},
        "What was chosen": {key_label(key, terms): value for key, value in selection.chosen.items()},
        "Map": {"Laid out by": projection(summary.map.method)} if summary.map else {},
        "Software versions": summary.versions,
        "Time taken": {STAGES.get(key) or key_label(key, terms): seconds(t) for key, t in summary.timing.items()},
        "All other settings": _leaves(nested, terms),
    }
    written = {title: {about: short(setting(value), 600) for about, value in of.items()} for title, of in facts.items()}
    needed = needed_of_new_rows(summary.data.columns)
    readings = [one for one in summary.columns if one.read_as != COORDINATE]
    tested = 0 if summary.findings_method is None else summary.findings_method.candidates
    line = f"{count(tested)} groups tested, method {summary.method}, seed {summary.seed}"
    return Fold("making", "How this was found", line, [
        *(Part(title, said) for title, said in written.items() if said),
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


def _data(summary: Summary, terms: Vocabulary) -> dict[str, Any]:
    data, columns = summary.data, summary.data.columns
    named = {terms.probability: columns.confidence, "outcome": columns.correct, "inputs": columns.x}
    named |= {"text": columns.text, "metadata": columns.metadata}
    return {
        "Rows": f"{summary.n:,} ({_use(summary)})",
        "File": data.path,
        "SHA-256": data.sha256,
        "Source of the inputs": data.x_source,
        "Numbers per input": data.n_features,
        **{f"Column of {name}": value for name, value in named.items() if value},
    }


def _use(summary: Summary) -> str:
    """Say what the rows were used for."""
    sizes = {"training": summary.n_train, "validation": summary.n_val, "testing": summary.n_test}
    used = [f"{n:,} for {name}" for name, n in sizes.items() if n is not None]
    if summary.evidence == "time":
        return f"{later_rows(summary):,} of them judged by what was learned of earlier ones"
    return ", ".join(used) or "each in one fold: learned from in all others, and judged in its own"


def _leaves(values: Mapping[str, Any], terms: Vocabulary, above: str = "") -> dict[str, Any]:
    """Return nested settings, each under its whole name."""
    leaves = {}
    for key, value in values.items():
        label = f"{above}{key_label(key, terms)}"
        leaves |= _leaves(value, terms, f"{label}: ") if isinstance(value, Mapping) else {label: value}
    return leaves


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
    threshold = "the threshold" if source.epsilon is None else formatting.brief_points(source.epsilon)
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


PANELS: tuple[Callable[[Source], Fold | None], ...] = (
    *(answer, findings, notes, verdict, judge, classes, columns, alone, decisions),
    *(over_time, atlas, corrections, reliability, regimes, histogram, making, glossary),
)


STYLES = (
    *("base.css", "answer.css", "tables.css", "figures.css", "values.css"),
    *("alone.css", "cards.css", "atlas.css", "print.css"),
)
DOORS = ("findings", "columns", "alone", "atlas", "corrections", "making")
"""Sections that the first screen leads to."""

MARK = b"<title>miscal report: "
"""By this the page of a run is known."""

PROGRAMS = (
    *("alone.js", "data.js", "numbers.js", "element.js", "colours.js", "pane.js"),
    *("tooltip.js", "legend.js", "order.js", "sort.js", "folds.js", "main.js"),
)


def render(run_dir: str | Path) -> Path:
    """Draw ``RUN_DIR/report.html`` from ``summary.json`` and the tables beside it, and return its path.

    The page is one file without any outside resource, replaced once it is complete; the same folder gives the same
    bytes.

    Examples
    --------
    >>> render("no/such/folder")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder: no such run folder; give the folder of a run, ...
    """
    folder = Path(run_dir)
    return write_page(read_source(folder), folder)


def write_page(source: Source, folder: Path) -> Path:
    """Write the page of a run into its folder, and return where it is."""
    path = folder / "report.html"
    replace_file(path, build(source).encode())
    return path


def build(source: Source) -> str:
    """Return the whole page as text."""
    units, rows = source.summary.units, f"{count(source.summary.n)} rows"
    if units is not None and units.widening >= WIDER:
        rows += f", counted by {units.unit} ({count(units.n_units)})"
    return render_page(
        "page.html",
        STYLES,
        PROGRAMS,
        command="report",
        name=source.name,
        folds=[fold for panel in PANELS if (fold := panel(source)) is not None],
        doors=DOORS,
        aside=rows,
        version=source.summary.versions.get("miscal"),
        **page_words(source.summary.kind, source.decimals),
    )
