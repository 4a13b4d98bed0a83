"""The frame of every page: one head, one content security policy, one footer; styles and programs put in by hash.

Whatever stands inside a page is escaped, and only code that is named by its hash may run. What the page of a run is
drawn from is a :class:`Source`: one summary and its tables. What its evaluation rows are called is said by
:func:`row_words`, and no other place tells all rows from test rows: every template writes ``words.rows`` and its like.

Names and colours of everything on the page are listed once: :func:`colour_rules` writes the colours as CSS variables.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from miscal.base.errors import CorruptFile, FileError, command
from miscal.base.shown import first_words
from miscal.base.vocabulary import Kind, Vocabulary, vocabulary
from miscal.data.readers.source import own_parquet
from miscal.discovery.run_folder import COLUMNS_FILE
from miscal.discovery.summary import Summary, read_summary
from miscal.discovery.tables import Tables, schema, tables_of
from miscal.evidence.settings import SIGNIFICANCE
from miscal.report import formatting
from miscal.report.formatting import brief_points, count, decimals_for, finite, printable

if TYPE_CHECKING:
    import polars as pl

#: Regimes by their name in the summary, in the order of the page.
REGIMES = ("over", "under", "good")
PROJECTIONS = {"pca": "principal components", "tsne": "t-SNE projection", "umap": "UMAP projection"}

#: The shades of the field from over- to under-confident, the colours of categories, and those of numbers.
FIELD = tuple(f"d{step}" for step in range(9))
CATEGORIES = tuple(f"c{step}" for step in range(10))
NUMBERS = tuple(f"s{step}" for step in range(7))
#: Every colour of the page by its CSS variable: on a light and on a dark screen.
COLOURS = {
    "paper": ("#fff", "#15181c"),
    "ink": ("#1a1e23", "#e6e9ec"),
    "muted": ("#5b6570", "#9aa5b0"),
    "rule": ("#dfe3e7", "#2e343b"),
    "soft": ("#f5f6f8", "#1d2126"),
    "link": ("#1d5f99", "#7db6ea"),
    "alarm": ("#b3261e", "#ff8a80"),
    "alarm-soft": ("#fdecea", "#331614"),
    "warn": ("#8a5a00", "#e6bd63"),
    "warn-soft": ("#fdf6e3", "#2a2415"),
    "over": ("#bf4a12", "#f0884a"),
    "under": ("#1d68ab", "#62a9e8"),
    "good": ("#8b939c", "#7f8993"),
    "none": ("#c9ced3", "#4a525a"),
    "use": ("#0b7a5b", "#4fc3a1"),
    "g1": ("#6d28d9", "#b794f6"),
    "g2": ("#1d4fd7", "#7aa7ff"),
    "g3": ("#b4410e", "#f0884a"),
    "d0": ("#8c2d04", "#ff9a55"),
    "d1": ("#c4500f", "#e9762f"),
    "d2": ("#e58a4b", "#b8602f"),
    "d3": ("#f2c09a", "#7d5137"),
    "d4": ("#d6d8da", "#4c535a"),
    "d5": ("#a9cbe6", "#3b5f7d"),
    "d6": ("#5e9dcd", "#3f82b8"),
    "d7": ("#2470b2", "#57a4e2"),
    "d8": ("#083f7a", "#8cc6fa"),
    "c0": ("#3b6fb6", "#79a8e8"),
    "c1": ("#e08214", "#f0a04b"),
    "c2": ("#2f9e78", "#58c49f"),
    "c3": ("#c2478b", "#e27fb4"),
    "c4": ("#7a5fb5", "#ab96e0"),
    "c5": ("#a6761d", "#cda35a"),
    "c6": ("#4bb3d1", "#79d0e8"),
    "c7": ("#d9534a", "#f0857d"),
    "c8": ("#7f9a2d", "#b3cc66"),
    "c9": ("#5a6470", "#9aa5b0"),
    "s0": ("#f0dd93", "#33507f"),
    "s1": ("#d7c08a", "#4a618a"),
    "s2": ("#b5a584", "#6a7590"),
    "s3": ("#8f8a80", "#8f8c8a"),
    "s4": ("#6a6f7c", "#b5a687"),
    "s5": ("#45557a", "#d8c184"),
    "s6": ("#14386e", "#ffe08a"),
}


def regime_labels(terms: Vocabulary) -> dict[str, str]:
    """Return what regimes are called, in the order of the page.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> regime_labels(vocabulary("answer"))
    {'over': 'Over-confident', 'under': 'Under-confident', 'good': 'Well calibrated'}
    """
    return {name: terms.regime(name).capitalize() for name in REGIMES}


def regime_names(good_p: float | None, epsilon: float | None, terms: Vocabulary) -> dict[str, str]:
    """Return what regimes are called in a run, by the names of the summary, in the order of the page.

    Rows near the zero of the field are not called well calibrated where their residual differs from zero (`good_p`);
    then the half-width of the band, `epsilon`, names them.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> [regime_names(p, 0.05, vocabulary("answer"))["good"] for p in (0.3, 0.01)]
    ['Well calibrated', 'Within \u00b15 points']
    """
    if good_p is None or good_p >= SIGNIFICANCE:
        return regime_labels(terms)
    return {**regime_labels(terms), "good": "Near zero" if epsilon is None else f"Within \u00b1{brief_points(epsilon)}"}


def colour_rules() -> str:
    """Return the colours as style rules: a CSS variable each, and a line colour for each shade of the field."""
    light, dark = (" ".join(f"--{name}: {shades[place]};" for name, shades in COLOURS.items()) for place in range(2))
    return (
        f"\n:root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        + " ".join(f".{name} {{ stroke: var(--{name}); }}" for name in FIELD)
        + "\n"
    )


REMEDY = f"run {command('discover')} again to write a complete run folder"

#: Columns the page reads; what else the tables hold is left alone (the map's text and metadata are optional).
FIELD_COLUMNS = ("row", "confidence", "correct", "delta", "visible", "hidden")
ANSWER_PREFIX = "answer."
"""What columns of the map begin with that hold the model's answer and the right one."""
MAP_COLUMNS = (
    *("row", "split", "raw_1", "raw_2", "learned_1", "learned_2", "delta", "regime"),
    *("hidden_regime", "confidence", "correct", "corrected"),
)


@dataclass(frozen=True)
class Source:
    """Everything the page is drawn from.

    `summary` is ``summary.json``, its texts in characters that a page can carry. `field` has a row per input row:
    `row`, `confidence`, `correct`, `delta` (negative: over-confident), `visible`, `hidden`; `map` the rows that the map
    shows, with positions, texts and metadata. `columns` are the values of each named column.
    """

    name: str
    summary: Summary
    field: pl.DataFrame
    map: pl.DataFrame
    columns: Tables = field(default_factory=dict)

    @property
    def terms(self) -> Vocabulary:
        """The words of its kind of probability."""
        return vocabulary(self.summary.kind)

    @property
    def epsilon(self) -> float | None:
        """Half-width of the well-calibrated band, in probability; None where the settings name none."""
        return finite(self.summary.settings.get("epsilon"))

    @property
    def decimals(self) -> int:
        """Decimals of differences and sizes in percentage points."""
        return decimals_for(self.epsilon)

    @property
    def regime_names(self) -> dict[str, str]:
        """What regimes are called in this run, by their names in the summary."""
        p_values = {regime.name: regime.residual.p_value for regime in self.summary.regimes}
        return regime_names(p_values.get("good"), self.epsilon, self.terms)


def read_source(folder: Path) -> Source:
    """Read and check a run folder.

    What is not there is a FileError, what is damaged or lacks a key or column a CorruptFile, and what a newer miscal
    wrote a MismatchError.
    """
    import polars as pl

    if not folder.is_dir():
        raise FileError(f"{folder}: no such run folder; give the folder of a run, made by {command('discover')}")
    summary = read_summary(folder)
    rows = _read_table(folder / "field.parquet", FIELD_COLUMNS)
    points = pl.DataFrame(schema=dict.fromkeys(MAP_COLUMNS, pl.Null))
    if summary.map is not None:
        points = _read_table(folder / "map.parquet", MAP_COLUMNS)
    path, columns = folder / COLUMNS_FILE, {}
    if path.exists():
        columns = tables_of(_read_table(path, tuple(schema())), name=str(path))
    return _source(summary, rows, points, columns, folder.resolve().name)


def source_of(run: Any, name: str) -> Source:
    """Return what the page of a discovery, or of a run read back, is drawn from; `name` calls data that are no file."""
    return _source(run.summary, run.table, run.map, run.tables, name)


def _source(summary: Summary, rows: pl.DataFrame, points: pl.DataFrame, columns: Tables, name: str) -> Source:
    named = Path(summary.data.path).name if summary.data.path else ""
    return Source(named or name, printable(summary), rows.select(FIELD_COLUMNS), points, columns)


def _read_table(path: Path, needed: tuple[str, ...]) -> pl.DataFrame:
    if not path.is_file():
        raise FileError(f"{path}: no such file; {REMEDY}")
    table = own_parquet(path)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise CorruptFile(f"{path}: column {', '.join(missing)} is missing; it has {table.columns}; {REMEDY}")
    return table


ASSETS = Path(__file__).parent / "assets"
"""Folder of the styles, programs and templates that pages share."""

Filters = tuple[tuple[str, Callable[..., Any]], ...]

View = dict[str, Any]
"""What a template reads of one of the things that it shows, by name."""

_MORE_DECIMALS = {"points": 0, "size": 0, "percent": 0, "metric": 2, "change": 3}
"""Numbers that are written with as many decimals as the run needs, and so many more."""
_FILTERS = ("brief_points", "ratio", "count", "p_value", "rate", "seconds", "is_opposite", "short", "listed", "begin")


def row_words(summary: Summary) -> View:
    """Return what the evaluation rows of a run are called, by its evidence: ``"all"``, ``"test"`` or ``"time"``.

    `row` and `rows` are one and several of them, `n` their number, `kind` and `of` such as ``" on test rows"`` and ``"
    of test rows"``, empty where they are all rows; `basis` says what the numbers of the page rest on.
    """
    n, some, judged = {
        "all": (summary.n, "", "each judged by a fit that never saw its outcome"),
        "time": (later_rows(summary), "later ", "each judged by a fit that had seen only earlier rows"),
    }.get(summary.evidence, (summary.n_test or 0, "test ", "from which nothing was learned"))
    rows, terms = f"{some}rows", vocabulary(summary.kind)
    whole = f"{terms.rate.capitalize()} and {terms.probability} are averages over all {count(summary.n)} rows; "
    sample = "" if summary.n_sample is None else f" The field was learned from {count(summary.n_sample)} of them."
    basis = f"Unless stated otherwise, every number on this page is of {count(n)} {rows}, {judged}.{sample}"
    if some:
        basis = f"{whole}unless stated otherwise, every other number on this page is of {count(n)} {rows}, {judged}."
    units, weights = summary.units, summary.weights
    if units is not None and units.source != "rows":
        basis += f" Intervals and p-values count by {units.unit}: {count(units.n_units)} units."
    if weights is not None:
        basis += f" Means are as precise as those of {weights.n_effective:,.0f} rows of equal weight."
    beside = {"kind": some and f" on {rows}", "of": some and f" of {rows}"}
    return View(row=f"{some}row", rows=rows, n=n, basis=basis, **beside)


def later_rows(summary: Summary) -> int:
    """Count the evaluation rows where each is judged by earlier ones: those of every block of time but the first."""
    return 0 if summary.over_time is None else sum(block.n for block in summary.over_time.blocks[1:])


def render_page(
    template: str,
    styles: Sequence[str],
    programs: Sequence[str] = (),
    *,
    folder: Path = ASSETS,
    filters: Filters = (),
    **values: Any,
) -> str:
    """Render a page that stands in one file and requests nothing from a network.

    `template` extends ``frame.html``. Its content security policy allows `styles` and `programs`, files in this order,
    by their hashes, and nothing else. Files are looked for in `folder` first, then among those that all pages share;
    `filters` are more functions to write numbers and texts with, and `values` what the template shows.
    """
    style = colour_rules() + _joined(styles, folder)
    program = f"(() => {{\n'use strict';\n{_joined(programs, folder)}}})();\n" if programs else ""
    return (
        environment(folder, filters, values.get("decimals", formatting.USUAL))
        .get_template(template)
        .render(
            **values,
            style=Markup(style),  # noqa: S704 - our own files
            style_hash=digest(style),
            program=Markup(program),  # noqa: S704
            program_hash=digest(program),
        )
        .lstrip()
    )


class _Compiled(FileSystemBytecodeCache):
    """Keeps compiled templates beside Python's own compiled files, if these may be written: .2 s of every page."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template; a folder that cannot be written to has none."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(parents=True, exist_ok=True)
                super().dump_bytecode(bucket)


@cache
def environment(folder: Path = ASSETS, filters: Filters = (), decimals: int = formatting.USUAL) -> Environment:
    """Return the templates of a folder and those that all pages share, with what they write numbers and texts with.

    They escape everything, refuse what is undefined, and write percentage points with so many `decimals`.
    """
    usual = {name: decimals + more for name, more in _MORE_DECIMALS.items()}
    env = Environment(
        loader=FileSystemLoader([folder, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(str(Path(cache_from_source(str(ASSETS / "_"))).parent), f"{_compiler()}-%s.bin"),
    )
    env.filters |= {name: getattr(formatting, name) for name in _FILTERS}
    env.filters |= {name: _written(getattr(formatting, name), digits) for name, digits in usual.items()}
    env.filters["bounds"] = lambda interval, form="points": formatting.bounds(interval, form, usual.get(form))
    env.filters |= {"few_words": first_words, "embed": embed, **dict(filters)}
    return env


def _compiler() -> str:
    """Tell apart what templates were compiled by: how a filter is called is compiled into them, and may change."""
    own = b"".join(Path(path).read_bytes() for path in (__file__, formatting.__file__))
    return f"{version('jinja2')}-{hashlib.blake2b(own, digest_size=6).hexdigest()}"


def _written(write: Callable[..., str], usual: int) -> Callable[..., str]:
    return lambda value, digits=usual: write(value, digits)


def page_words(kind: Kind, decimals: int) -> dict[str, Any]:
    """Return what every template reads: words of a kind of probability, and decimals of points, whole or in brief."""
    terms = vocabulary(kind)
    return {"terms": terms, "decimals": decimals, "digits": decimals if terms.digits else 0}


def draw_template(template: str, kind: Kind, decimals: int, /, **values: object) -> Markup:
    """Draw a part of a page; its template escapes all that it prints."""
    env = environment(decimals=decimals)
    return Markup(env.get_template(template).render(**page_words(kind, decimals), **values))  # noqa: S704


def draw(source: Source, panel: str, /, **values: object) -> Markup:
    """Draw the template of a panel, in ``assets/panels``, from one run; ``words`` are those of its evaluation rows."""
    kind, words = source.summary.kind, row_words(source.summary)
    return draw_template(f"panels/{panel}.html", kind, source.decimals, words=words, **values)


def _joined(names: Sequence[str], folder: Path) -> str:
    found = (folder / name if (folder / name).exists() else ASSETS / name for name in names)
    return "\n" + "".join(path.read_text(encoding="utf-8") for path in found)


def embed(value: Any) -> Markup:
    r"""Write JSON that may stand inside a ``<script type="application/json">`` element whatever texts it holds.

    Examples
    --------
    >>> print(embed({"a": "</script>&"}))
    {"a":"\u003c/script\u003e\u0026"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def embedded_size(text: str) -> int:
    """Return how many bytes a text takes inside the page, quotes included."""
    return len(str(embed(text)).encode())


def digest(text: str) -> str:
    """Return the hash by which the content security policy knows a style or program."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
