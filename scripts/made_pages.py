"""Write what code knows best into docs/made, and into CONTRIBUTING.md: `python scripts/made_pages.py`.

Pages are the keys and columns of every file, and the command line; the page of a study's tables is copied. Meanings are
taken from docstrings: "`key`: meaning", the section Attributes, or a sentence that names ``key``. The map of the rooms
in CONTRIBUTING.md is drawn from the docstrings of their folders. The build of the site runs this.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer.main
from pydantic import BaseModel

from miscal.cli.app import build
from miscal.discovery.saved_model import correct_rows
from miscal.discovery.summary import Summary
from miscal.discovery.tables import classes_table, field_table
from miscal.findings.conditions.condition import KINDS
from miscal.findings.ledger.document import ColumnValue
from miscal.runs.audit import Audit
from miscal.runs.compare.comparison import RunComparison
from miscal.runs.monitor.document import Monitoring
from miscal.runs.scan.document import ScanSummary

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "made"
SOURCE = ROOT / "src" / "miscal"
MAP = re.compile(r"^\| folder \|.*?\n\n", re.DOTALL | re.MULTILINE)
"""The map of the rooms, as it stands in CONTRIBUTING.md."""

ENTRY = r"(?:(?<=\.)\s+|^)`([a-z_]\w*(?:, \w+)*)`:\s"
"""How a docstring begins to say what a name means."""

COMMON = {
    "n": "number of rows",
    "share": "share of all rows, in [0, 1]",
    "accuracy": "mean outcome, in [0, 1]",
    "confidence": "mean confidence, in [0, 1]",
    "corrected": "mean corrected confidence, in [0, 1]",
    "residual": "accuracy less confidence: negative where over-confident",
    "visible": "the part of the residual that a reliability diagram shows",
    "hidden": "the rest: how much more often right than rows of equal confidence",
    "smece": "smooth calibration error",
    "ece": "expected calibration error, in bins",
    "brier": "mean squared difference of confidence and outcome",
    "log_loss": "mean log loss, in nats",
    "value": "the number",
    "interval": "its 95 % interval, [low, high]",
    "p_value": "its p-value, not adjusted",
    "p_adjusted": "p-value, adjusted for all that was tested",
    "name": "what it is called",
    "column": "name of the column",
    "description": "the group in words",
    "columns": "the columns that say which rows belong to it",
    "aliases": "other names of nearly the same rows",
    "findings": "the findings, strongest first",
    "fate": "what the correction makes of it",
    "sign": '"over" or "under"',
    "a": "of the first",
    "b": "of the second",
    "seed": "of everything that is drawn",
    "schema_version": "version of the layout",
    "versions": "versions of the software",
    "warnings": "what a reader has to know, in sentences",
    "kind": "what it is: of a run, what the confidence is the probability of",
    "method": "auto, shifts or paper",
    "evidence": "which rows are evaluated: all, the test rows, or later ones",
    "answer": "the result in three lines",
    "verdict": "what is said, in sentences",
    "condition": "which rows belong to it: see Conditions below",
    "candidates": "how many groups were tested",
    "curves": "reliability before and after the correction",
    "histogram": "of the field",
    "field": "numbers of the field",
    "selection": "which settings were chosen",
    "findings_method": "how findings were chosen",
    "accounted_for": "what differs by itself, but not beyond the findings",
    "units": "what is counted once",
    "weights": "how unequally rows count; null where they count alike",
    "over_time": "by period; null without --time",
    "data": "the source of the rows",
    "correction": "the correction",
    "all": "of all rows",
    "over": "of the over-confident rows",
    "under": "of the under-confident rows",
    "good": "of the well calibrated rows",
    "mean": "mean",
    "std": "standard deviation",
    "left_out": "what was left out, and why",
    "finding": "number of the finding, from 1",
    "rows": "number of rows",
    "brier_raw": "Brier score of the raw confidences",
    "brier_corrected": "Brier score of the corrected confidences",
    "observed": "on the data",
    "draws": "of each draw",
    "n_seeds": "number of seeds",
    "delta_std": "standard deviation of the field",
    "epsilon": "half-width of the band that counts as well calibrated",
    "unsupported": "share of rows without a local estimate",
    "global": "all rows, before any correction",
}
"""What keys mean that many documents share, where a docstring says nothing else."""

DOCUMENTS: dict[str, type] = {
    "summary.json": Summary,
    "columns.parquet": ColumnValue,
    "audit.json": Audit,
    "compare.json": RunComparison,
    "monitor.json": Monitoring,
    "summary.json of a scan": ScanSummary,
}
COLUMNS: dict[str, Callable] = {
    "field.parquet": field_table,
    "classes.parquet": classes_table,
    "the table of miscal calibrate": correct_rows,
}
START = """# Keys and columns

Made from the code: every file that a command writes, with its keys or columns. A number that is not defined is null,
never NaN. An interval is [low, high] at 95 %. Residuals are outcome less confidence, so a positive one means
under-confident. `findings.parquet` has a row for each [Finding](#finding) and `columns.parquet` for each
[ColumnValue](#columnvalue), with their keys; a number with an interval is three columns there, such as `hidden`,
`hidden_low` and `hidden_high`. Of an event, `accuracy` is its rate, `confidence` its mean predicted risk, and over- and
under-confident are over- and under-predicted."""


def meanings(doc: str) -> dict[str, str]:
    """Return what a docstring says of each name that it explains in a line of its own."""
    found: dict[str, str] = {}
    text = re.split(r"\nExamples\n-+\n", doc)[0]
    for part in text.split("\n\n"):
        pieces = re.split(ENTRY, part, flags=re.MULTILINE)
        for names, said in zip(pieces[1::2], pieces[2::2], strict=True):
            found |= dict.fromkeys(names.split(", "), one_line(said))
    attributes = re.search(r"\nAttributes\n-+\n(.*)", text, re.DOTALL)
    lines = re.findall(r"^(\w[\w, ]*)(?: : .*)?\n((?:    .*\n?)+)", attributes[1] if attributes else "", re.MULTILINE)
    for names, said in lines:
        found |= dict.fromkeys(names.split(", "), one_line(said))
    return found


def about(doc: str) -> str:
    """Return a docstring without its lists and examples."""
    text = re.split(r"\n(?:Examples|Attributes)\n-+\n", doc)[0]
    kept = [re.split(ENTRY, part, flags=re.MULTILINE)[0] for part in text.split("\n\n")]
    return "\n\n".join(one_line(part) for part in kept if part.strip())


def one_line(text: str) -> str:
    """Return text of a docstring as one line of Markdown."""
    plain = re.sub(r":\w+:`~?(?:[^`<]*\.)?([^`.]+)`", r"`\1`", text).replace("``", "`").replace("None", "null")
    return re.sub(r"(`[^`]*`)|(?<!\S)(--[a-z][\w-]*)", lambda one: one[1] or f"`{one[2]}`", " ".join(plain.split()))


def keys(kind: type) -> dict[str, Any]:
    """Return the keys of a document or a part of one, as they are written, with their types."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {one.name: hints[one.name] for one in fields(kind)}
    return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}


def documented(kind: type) -> dict[str, str]:
    """Return what every key means; an empty text where a sentence about the whole says it.

    A key of which nothing is said is missing.
    """
    docs = [inspect.getdoc(one) or "" for one in kind.__mro__ if one.__module__.startswith("miscal")]
    said = {name: text for doc in reversed(docs) for name, text in meanings(doc).items()}
    spoken = " ".join(one_line(doc) for doc in docs)
    own = {name: said[name] for name in keys(kind) if name in said}
    own |= {name: "" for name in keys(kind) if name not in own and f"`{name}`" in spoken}
    return {name: text for name, text in (COMMON | own).items() if name in keys(kind)}


def parts(kind: Any, seen: list[type]) -> list[type]:
    """Return the documents that one is made of, itself first."""
    if (
        isinstance(kind, type)
        and kind.__module__.startswith("miscal")
        and (issubclass(kind, BaseModel) or is_dataclass(kind))
    ):
        if kind not in seen:
            seen.append(kind)
            for annotation in keys(kind).values():
                parts(annotation, seen)
    else:
        for inside in get_args(kind):
            parts(inside, seen)
    return seen


def every_part() -> dict[str, list[type]]:
    """Return the parts of every document, each under the first that holds it."""
    seen: list[type] = []
    found = {}
    for name, kind in DOCUMENTS.items():
        before = len(seen)
        parts(kind, seen)
        found[name] = [one for one in seen[before:] if one not in KINDS.values()]
    return found


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown."""
    lines = [
        " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line)
        for line in (head, ["---"] * len(head), *rows)
    ]
    return "\n".join(f"| {line} |" for line in lines)


def type_words(kind: Any) -> str:
    """Return a type in a few words."""
    if isinstance(kind, type) and not get_args(kind):
        plain = {"int": "whole", "float": "number", "str": "text", "bool": "true or false", "NoneType": "null"}
        return plain.get(kind.__name__, kind.__name__)
    inside = [type_words(one) for one in get_args(kind) if one is not Ellipsis and not hasattr(one, "metadata")]
    origin = getattr(kind, "__origin__", None)
    if hasattr(kind, "__metadata__"):
        return type_words(get_args(kind)[0])
    if origin in (tuple, list):
        return f"list of {' or '.join(dict.fromkeys(inside))}"
    if origin is dict:
        return f"by name: {inside[-1]}"
    if inside:
        return " or ".join(dict.fromkeys(inside))
    return str(kind).strip("'").split(".")[-1]


def outputs() -> str:
    """Return the page of keys and columns."""
    found = [START]
    for name, function in COLUMNS.items():
        rows = [[f"`{column}`", said] for column, said in meanings(inspect.getdoc(function) or "").items()]
        found += [f"## {name}", table(["column", "meaning"], rows)]
    for name, kinds in every_part().items():
        found.append(f"## {name}")
        for kind in kinds:
            said = documented(kind)
            rows = [[f"`{key}`", type_words(hint), said.get(key, "")] for key, hint in keys(kind).items()]
            found += [
                f"### {kind.__name__}",
                about(inspect.getdoc(kind) or ""),
                table(["key", "type", "meaning"], rows),
            ]
    rows = [
        [f"`{name}`", ", ".join(f"`{one.name}`" for one in fields(kind)), about(inspect.getdoc(kind) or "")]
        for name, kind in KINDS.items()
    ]
    found += ["## Conditions", "Which rows of any table belong to a group.", table(["kind", "fields", "rows"], rows)]
    return "\n\n".join(found) + "\n"


def commands() -> str:
    """Return the page of the command line."""
    found = ["# Command line", "Made from the code: what `miscal COMMAND --help` says."]
    for name, command in typer.main.get_command(build()).commands.items():
        rows = [list(_option(one)) for one in command.params if one.name != "help"]
        text = "\n\n".join(map(one_line, (command.help or "").replace("\b\n", "").split("\n\n")))
        found += [f"## miscal {name}", text, table(["argument or option", "what it says"], rows)]
    return "\n\n".join(found) + "\n"


def _option(one: Any) -> Iterator[str]:
    names = [*one.opts, *one.secondary_opts]
    yield ", ".join(f"`{text}`" for text in names) if names[0].startswith("-") else f"`{one.name}`"
    yield one_line(getattr(one, "help", None) or "")


PAGES: dict[str, Callable[[], str]] = {
    "outputs": outputs,
    "study-tables": (SOURCE / "study" / "tables.md").read_text,
    "commands": commands,
}


def folders() -> dict[str, tuple[str, str, str]]:
    """Return what each folder is for, what comes in and what goes out, rooms in the order in which they may import."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    order = [room for layer in reversed(settings["contracts"][0]["layers"]) for room in re.findall(r"\w+", layer)]
    places = (place.parent for room in order for place in sorted((SOURCE / room).rglob("__init__.py")))
    return {place.relative_to(SOURCE).as_posix(): purpose(place) for place in places}


def purpose(folder: Path) -> tuple[str, str, str]:
    """Return the three lines that open the docstring of a folder: what it is for, what comes in, what goes out."""
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    lines = re.match(r"(.+)\n\nIn: (.+)\nOut: (.+)(?:\n\n|$)", doc)
    if lines is None:
        raise ValueError(f"{folder}: the docstring must open with a line, a blank one, and 'In: ...' and 'Out: ...'")
    return lines[1], lines[2], lines[3]


def rooms() -> str:
    """Return the map of the rooms and their folders."""
    rows = [[f"`{name}`", *(one_line(line).rstrip(".") for line in lines)] for name, lines in folders().items()]
    return table(["folder", "what it is for", "what comes in", "what goes out"], rows) + "\n\n"


def contributing() -> str:
    """Return CONTRIBUTING.md with the map as it should be."""
    return MAP.sub(lambda _: rooms(), (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), count=1)


def write() -> None:
    """Write every page, and leave alone what is as it should be."""
    FOLDER.mkdir(exist_ok=True)
    pages = {FOLDER / f"{name}.md": page() for name, page in PAGES.items()}
    for place, text in (pages | {ROOT / "CONTRIBUTING.md": contributing()}).items():
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
