"""Options that several commands share, named as in the contract."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer


class Method(StrEnum):
    """Estimators."""

    auto = "auto"
    paper = "paper"


class OnInvalid(StrEnum):
    """What to do with rows that cannot be used."""

    error = "error"
    drop = "drop"


class Map(StrEnum):
    """Layouts of the 2-D maps."""

    auto = "auto"
    pca = "pca"
    umap = "umap"


def _number(kind: type, low: float, below: float | None = None) -> Callable[[object], float]:
    """Parse a number in a range, and say what came: typer's own message does not."""
    words = f"a {'whole ' if kind is int else ''}number of at least {low}" + (f" and below {below}" if below else "")

    def parse(text: object) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not value >= low or (below is not None and not value < below):
            raise typer.BadParameter(f"it must be {words}; {str(text)!r} came")
        return value

    return parse


def whole(low: int) -> Callable[[object], float]:
    """Parse a whole number of at least `low`."""
    return _number(int, low)


def fraction(text: object) -> float:
    """Parse a number of at least 0 and below 1."""
    return _number(float, 0, 1)(text)


def numbers(text: object) -> tuple[float, ...]:
    """Parse a comma-separated list of numbers, and say what came.

    Examples
    --------
    >>> numbers("0.2, 1e-3")
    (0.2, 0.001)
    """
    try:
        return tuple(float(part) for part in str(text).split(","))
    except ValueError:
        raise typer.BadParameter(f"it must be numbers separated by commas, e.g. 0.2,0.6; {str(text)!r} came") from None


DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="Parquet, csv or jsonl file, or a folder `miscal score` wrote.")
]
RunDir = Annotated[str, typer.Argument(metavar="RUN_DIR", help="Folder `miscal discover` wrote.")]
Confidence = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of the model's confidence in [0, 1]. Default: confidence, or a synonym."),
]
Correct = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the outcome, 0/1. Default: correct, or a synonym.")
]
Embeddings = Annotated[
    str | None, typer.Option(metavar="FILE", help="Embeddings (.npy or .safetensors), rows in the order of DATA.")
]
Features = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Feature columns: names or patterns, e.g. 'x_*,age'.")
]
Text = Annotated[str | None, typer.Option(metavar="COL", help="Column of text; the source of x when nothing else is.")]
Metadata = Annotated[
    str | None,
    typer.Option(metavar="COL,COL", help="Columns that describe rows; patterns of features pass over them."),
]
MethodOption = Annotated[Method, typer.Option("--method", help="Estimator.")]
Seed = Annotated[int, typer.Option(metavar="N", parser=_number(int, 0), help="Seed of everything random.")]
Epsilon = Annotated[
    float,
    typer.Option(metavar="E", parser=_number(float, 0, 1), help="Half-width of the well-calibrated band of delta."),
]
Split = Annotated[str | None, typer.Option(metavar="COL", help="Column of train / val / test, used as it is.")]
Where = Annotated[str | None, typer.Option(metavar="EXPR", help="Rows to keep, e.g. \"model == 'gpt-4o'\".")]
Group = Annotated[str | None, typer.Option(metavar="COL", help="Rows with the same value stay on one side.")]
OnInvalidOption = Annotated[OnInvalid, typer.Option("--on-invalid", help="Rows that cannot be used: refuse or drop.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of text files.")]
EmbedModel = Annotated[
    str | None, typer.Option(metavar="MODEL", help="For --text: tfidf, or a sentence-transformers folder or hub id.")
]
MapOption = Annotated[Map, typer.Option("--map", help="Layout of the 2-D maps; auto: UMAP if installed and quick.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing run folder.")]
OverwriteTable = Annotated[bool, typer.Option("--overwrite", help="Replace an existing table.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]


def names(text: str | None) -> tuple[str, ...]:
    """Split a comma-separated list of column names.

    Parameters
    ----------
    text : str or None
        As given on the command line.

    Returns
    -------
    tuple of str
        The names, without surrounding blanks; empty for None.

    Examples
    --------
    >>> names("subject, year"), names(None)
    (('subject', 'year'), ())
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
