"""The rows of the page: its map, and those that are shown as examples, chosen and shortened.

Rows travel column by column, positions as integers on a grid, categories as codes, so that thousands of rows with
their texts fit on the page.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from miscal.base.vocabulary import Vocabulary
from miscal.discovery.layout import BACK, GAP, shared_beginnings
from miscal.findings.residuals import EPSILON
from miscal.report.formatting import clean, count, finite, short
from miscal.report.frame import (
    ANSWER_PREFIX,
    CATEGORIES,
    FIELD,
    NUMBERS,
    PROJECTIONS,
    REGIMES,
    Source,
    View,
    draw,
    embedded_size,
)
from miscal.report.sheet import Fold

if TYPE_CHECKING:
    import polars as pl


#: Most rows drawn, and the bytes that all their texts together, and all their metadata, may take.
MAX_ROWS = 10_000
TEXT_BUDGET = 1_000_000
META_BUDGET = 700_000
MAX_TEXT = 400
MAX_NAME = 120
#: Columns of the map that tell of a row: its metadata, and its inputs where they have names.
COLUMN_PREFIXES = ("meta.", "feature.")
#: A metadata column with more values than this cannot be coloured: its commonest are, the rest are "other".
MAX_COLUMNS = 40
GRID = 4095
STATIC_ROWS = 3_500


#: The fields that the map is coloured by, by their columns.
FIELD_NAMES = {"hidden": "Hidden field", "delta": "Field (visible + hidden)", "visible": "Visible field"}


#: Both views of the map, by the names of their columns.
PANES = {"learned": "Learned geometry", "raw": "Raw inputs"}


#: Regimes in the order of the field; a row's code is its place here, the last one for rows without a local estimate.
CODES = ("over", "good", "under", "none")


def regime_code(name: str | None) -> int:
    """Return the place of a regime in the order of the field, the last place where there is none.

    Examples
    --------
    >>> [regime_code(name) for name in ("over", "good", "under", None)]
    [0, 1, 2, 3]
    """
    return CODES.index(name) if name in CODES else len(CODES) - 1


def field_ends(name: str, terms: Vocabulary) -> tuple[str, str]:
    """Return what both ends of the scale of a field mean.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> field_ends("hidden", vocabulary("answer"))
    ('right less often than rows of equal confidence', 'right more often')
    """
    hidden = terms.often_beside("over"), terms.often("under")
    return hidden if name == "hidden" else (terms.over, terms.under)


def for_program(regimes: Mapping[str, str], terms: Vocabulary) -> dict[str, Any]:
    """Return the names, and the variables of the colours, that the page's program draws with."""
    ends = {key: field_ends(key, terms) for key in FIELD_NAMES}

    def levels(names: Mapping[str, str]) -> list[dict[str, str]]:
        return [{"name": names.get(code, "no local estimate"), "colour": code} for code in CODES]

    return {
        "regimes": levels({name: label.lower() for name, label in regimes.items()}),
        "hidden_regimes": levels({name: terms.often_beside(name).lower() for name in REGIMES}),
        "fields": [
            {"key": key, "name": name, "low": ends[key][0], "high": ends[key][1]} for key, name in FIELD_NAMES.items()
        ],
        "probability": terms.probability,
        "outcomes": [terms.other, terms.one],
        "told": terms.told,
        "field": FIELD,
        "categories": CATEGORIES,
        "numbers": NUMBERS,
    }


def sample(table: "pl.DataFrame", most: int) -> "pl.DataFrame":
    """At most `most` rows, evenly spaced, in their order: the same rows every time."""
    if table.height <= most:
        return table
    return table[[(2 * i + 1) * table.height // (2 * most) for i in range(most)]]


def colour_limit(values: Sequence[float | None], step: float = EPSILON) -> float:
    """Where the diverging scale ends: the 98th percentile of the field's size in whole steps, at least two of them."""
    sizes = sorted(abs(v) for v in map(finite, values) if v is not None)
    # an odd number of steps that rounding has made a little more than it is, is no step more
    steps = math.ceil(sizes[int(0.98 * (len(sizes) - 1))] / step - 1e-9) if sizes else 0
    return round(max(2, steps) * step, 12)


def grid_positions(values: Sequence[float | None]) -> list[int]:
    """Positions on the integer grid 0 to GRID; -1 where there is none.

    Examples
    --------
    >>> grid_positions([0.0, 1.0, None, 0.5])
    [0, 4095, -1, 2048]
    """
    known = [finite(v) for v in values]
    low = min((v for v in known if v is not None), default=0.0)
    span = max((v for v in known if v is not None), default=0.0) - low
    return [-1 if v is None else round(GRID * (v - low) / span) if span > 0 else GRID // 2 for v in known]


def atlas(source: Source) -> Fold:
    """Show the rows by the page's program, the drawing for print, and how many rows of how many are shown."""
    payload, n_total = map_payload(source), source.summary.map.n_total if source.summary.map else 0
    first, n = payload["first"], payload["n"]
    body = draw(
        source, "atlas", payload=payload, panes=static_panes(payload) if n else [], total=n_total or source.summary.n,
        structure=source.summary.field.structure, shades=FIELD,
        # what the drawing is coloured by, where its scale ends, and what both ends mean
        field_name=FIELD_NAMES[first].lower(), limit=payload["limits"][first],
        ends=field_ends(first, source.terms),
    )  # fmt: skip
    line = f"{count(n)} of {count(max(n, n_total))} rows to point at and colour"
    return Fold("atlas", "Map", line if n else "The run left no rows to show", [body])


def map_payload(source: Source) -> dict[str, Any]:
    """Return the map's rows as JSON values."""
    table, made = sample(source.map, MAX_ROWS), source.summary.map
    columns, left_off = metadata(table)
    decimals = source.decimals
    # two more than are shown, as shares of 1
    fine = decimals + 3
    step = min(EPSILON, source.epsilon or EPSILON)
    hidden = table["hidden_regime"].to_list()
    fields = {key: rounded(table[key].to_list(), fine) for key in FIELD_NAMES if key in table.columns}
    return {
        "n": table.height,
        "grid": GRID,
        "legend": for_program(source.regime_names, source.terms),
        "decimals": decimals,
        # the map is for what no reliability diagram shows; where all rows are over-confident, delta has one colour
        "first": "hidden" if "hidden" in fields and source.summary.field.structure else "delta",
        "fields": fields,
        "limits": {key: colour_limit(values, step) for key, values in fields.items()},
        "panes": [
            {"name": name, "title": title, "method": short(projection(made and made.method), MAX_NAME)}
            | {axis: grid_positions(table[f"{name}_{place}"].to_list()) for axis, place in (("x", 1), ("y", 2))}
            for name, title in PANES.items()
        ],
        "row": table["row"].to_list(),
        "confidence": rounded(table["confidence"].to_list(), fine),
        "corrected": rounded(table["corrected"].to_list(), fine),
        "correct": [None if v is None else int(v) for v in table["correct"].to_list()],
        "split": coded(table["split"].to_list()),
        "regime": [regime_code(v) for v in table["regime"].to_list()],
        "hidden_regime": [regime_code(v) for v in hidden] if any(hidden) else None,
        "text": texts(table),
        "meta": columns,
        "left_off": left_off,
    }


def column_name(column: str) -> str:
    """Return what a column of metadata or of inputs is called.

    Examples
    --------
    >>> column_name("meta.topic"), column_name("feature.age")
    ('topic', 'age')
    """
    return clean(column.split(".", 1)[1])[:MAX_NAME]


def projection(method: str | None) -> str:
    """Return what the method that made a view is called."""
    return PROJECTIONS.get(method, method) if method else "unknown projection"


def rounded(values: Sequence[float | None], digits: int) -> list[float | None]:
    """Numbers with few digits; null where undefined."""
    return [None if v is None else round(v, digits) for v in map(finite, values)]


def coded(values: Sequence[Any]) -> dict[str, Any]:
    """Texts as codes into their distinct values, commonest first; -1 where there is none.

    Examples
    --------
    >>> coded(["b", "a", "b", None])
    {'levels': ['b', 'a'], 'codes': [0, 1, 0, -1]}
    """
    names = [None if v is None or v == "" else clean(v)[:MAX_NAME] for v in values]
    sizes = Counter(name for name in names if name is not None)
    levels = sorted(sizes, key=lambda name: (-sizes[name], name))
    index = {name: code for code, name in enumerate(levels)}
    return {"levels": levels, "codes": [-1 if name is None else index[name] for name in names]}


def texts(table: "pl.DataFrame") -> list[str] | None:
    """Return the rows' texts, each cut so that all fit the budget; null where there are none."""
    if "text" not in table.columns:
        return None
    values = ["" if v is None else clean(str(v)[: MAX_TEXT + 1]) for v in table["text"].to_list()]
    if not any(values):
        return None
    length = MAX_TEXT
    while length > 10 and (size := sum(embedded_size(v[:length]) for v in values)) > TEXT_BUDGET:
        length = int(0.95 * length * TEXT_BUDGET / size)
    return [v if len(v) <= length else v[:length] + "…" for v in values]


def metadata(table: "pl.DataFrame") -> tuple[list[dict[str, Any]], list[str]]:
    """Return the columns of metadata and of inputs that fit, and the names of those that do not."""
    kept: list[dict[str, Any]] = []
    left_off: list[str] = []
    budget = META_BUDGET
    for column in (name for name in table.columns if name.startswith(COLUMN_PREFIXES)):
        name = column_name(column)
        encoded = {"name": name, **encode(table[column])}
        cost = sum(embedded_size(v) for v in encoded.get("levels", ())) + 5 * table.height
        if cost > budget or len(kept) == MAX_COLUMNS:
            left_off.append(name)
        else:
            budget -= cost
            kept.append(encoded)
    return kept, left_off


def encode(column: "pl.Series") -> dict[str, Any]:
    """Return a metadata column as numbers (more than twelve distinct) or as coded categories."""
    if column.dtype.is_numeric() and column.n_unique() > 12:
        return {"values": [None if v is None else float(f"{v:.4g}") for v in map(finite, column.to_list())]}
    values = column.to_list()
    if any(isinstance(v, bool) for v in values):
        values = [None if v is None else "yes" if v else "no" for v in values]
    return coded([f"{v:g}" if isinstance(v, float) else v for v in values])


def shade(value: float, limit: float) -> int:
    """Which shade of the diverging scale a value of the field takes; 0 is the most over-confident.

    Examples
    --------
    >>> shade(-0.5, 0.3), shade(0.0, 0.3), shade(0.3, 0.3)
    (0, 4, 8)
    """
    share = (min(max(value / limit, -1.0), 1.0) + 1) / 2 if limit else 0.5
    return min(int(share * len(FIELD)), len(FIELD) - 1)


def static_panes(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Both panes with `paths`, one SVG path per shade of the field, of `n` rows: for print and without scripts."""
    values, limit = payload["fields"][payload["first"]], payload["limits"][payload["first"]]
    every, drawn = max(1, math.ceil(payload["n"] / STATIC_ROWS)), []
    for pane in payload["panes"]:
        marks: dict[int, list[str]] = {}
        for across, up, value in list(zip(pane["x"], pane["y"], values, strict=True))[::every]:
            if across >= 0 and up >= 0 and value is not None:
                # the grid is drawn on 400 by 300 units with a margin of 8
                x, y = round(8 + 384 * across / GRID, 1), round(292 - 284 * up / GRID, 1)
                marks.setdefault(shade(value, limit), []).append(f"M{x:g} {y:g}h0")
        # the weak shades go first, so that what matters lies on top
        order = sorted(marks, key=lambda step: abs(step - len(FIELD) // 2))
        paths = {FIELD[step]: "".join(marks[step]) for step in order}
        drawn.append({**pane, "n": sum(map(len, marks.values())), "paths": paths})
    return drawn


EXAMPLE_TEXT = 300
MAX_ANSWER = 120
#: Columns of a row that are shown where it has no text.
EXAMPLE_COLUMNS = 4
#: Texts that begin alike for fewer characters than this are shown from their beginning.
ALIKE = 60


def examples(source: Source, asked: Sequence[Sequence[int]]) -> list[list[View]]:
    """Return rows as examples, list by list: each its number, numbers of the field, and its text.

    Texts that begin alike are shown from where they differ. Where no row has a text, the columns stand there in which a
    row differs most from others. `answers` are the model's and the right one, with what they are called; `expected` is
    E[y | f]: how often rows of equal confidence are right.
    """
    wanted = {row for rows in asked for row in rows}
    numbers, seen = _by_row(source.field, wanted), _by_row(source.map, wanted)
    names = [name for name in source.map.columns if name.startswith(COLUMN_PREFIXES)]
    told, terms = any(_text(values) for values in seen.values()), source.terms
    surprise = {name: _surprise(source.map[name]) for name in names if not told}

    def example(row: int, text: str) -> View:
        own = seen.get(row, {})
        confidence, visible, correct = (finite(numbers[row][name]) for name in ("confidence", "visible", "correct"))
        telling = [name for name in surprise if _is_known(own.get(name))]
        telling.sort(key=lambda name: -surprise[name](own[name]))
        return View(
            row=row,
            text=text if len(text) <= EXAMPLE_TEXT else f"{text[:EXAMPLE_TEXT]}…",
            answers=tuple(_answers(own)),
            columns=[f"{short(column_name(name), 40)} {_shown(own[name])}" for name in telling[:EXAMPLE_COLUMNS]],
            confidence=confidence,
            outcome=terms.unknown if correct is None else terms.told.format(terms.one if correct else terms.other),
            expected=None if confidence is None or visible is None else confidence + visible,
            corrected=finite(own.get("corrected")),
        )

    made = []
    for rows in asked:
        known = [row for row in rows if row in numbers]
        texts = from_difference([_text(seen.get(row, {})) for row in known])
        made.append([example(row, text) for row, text in zip(known, texts, strict=True)])
    return made


def from_difference(texts: Sequence[str]) -> list[str]:
    """Show texts that share 60 characters of their beginning or more from where they differ, with a leading ellipsis.

    Examples
    --------
    >>> question = "Read the passage below and answer the question that follows it with a single letter. "
    >>> from_difference([question + "Who came first?", question + "Where is it?", "Why?"])
    ['… follows it with a single letter. Who came first?', '… follows it with a single letter. Where is it?', 'Why?']
    """
    return [_from(text, shared) for text, shared in zip(texts, shared_beginnings(texts), strict=True)]


def _from(text: str, shared: int) -> str:
    # equal texts differ nowhere
    if shared < ALIKE or shared >= len(text):
        return text
    start = text.rfind(" ", 0, shared - BACK) + 1
    # the map may have left out a part before: what follows is where the text differs
    gap = text.rfind(GAP, 0, shared + len(GAP))
    start = gap + len(GAP) if gap >= start else start
    return f"… {text[start:]}" if start else text


def _surprise(column: "pl.Series") -> Callable[[Any], float]:
    """Return what says how unusual a value is: minus the log of its share, or of a normal curve's height beside 1."""
    values = [value for value in column.to_list() if value is not None and value == value]
    if column.dtype.is_numeric():
        mean, deviation = finite(column.mean()) or 0.0, finite(column.std()) or 0.0
        return lambda value: ((value - mean) / deviation) ** 2 / 2 if deviation and finite(value) is not None else 0.0
    # a value that no other row has says which row it is, not what it is like
    shares = {value: n / len(values) for value, n in Counter(values).items() if n > 1}
    return lambda value: -math.log(shares.get(value, 1.0))


def _is_known(value: Any) -> bool:
    return value is not None and value == value and bool(str(value).strip())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else short(value, 60)


def _text(values: Mapping[str, Any]) -> str:
    return re.sub(r"\s+", " ", clean(values.get("text") or "")).strip()


def _answers(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name.startswith(ANSWER_PREFIX) and value is not None:
            yield f"{column_name(name)}: {short(value, MAX_ANSWER)}"


def _by_row(table: "pl.DataFrame", wanted: Collection[int]) -> dict[int, dict[str, Any]]:
    import polars as pl

    return {values["row"]: values for values in table.filter(pl.col("row").is_in(list(wanted))).iter_rows(named=True)}
