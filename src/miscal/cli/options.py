"""Options that several commands share."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from miscal.base.errors import InputError
from miscal.base.randomness import LARGEST_SEED
from miscal.estimators.registry import DEVICES, ESTIMATORS

# the estimators of the library, so that a new one is offered here too
Method = StrEnum("Method", {name: name for name in ESTIMATORS})  # pyrefly: ignore[invalid-argument]
Method.__doc__ = "Ways to estimate the field."


Device = StrEnum("Device", {name: name for name in DEVICES})  # pyrefly: ignore[invalid-argument]
Device.__doc__ = "Where to compute."


class OnInvalid(StrEnum):
    """What to do with rows that cannot be used."""

    error = "error"
    drop = "drop"


class OnInvalidNewRow(StrEnum):
    """What to do with new rows that cannot be corrected."""

    error = "error"
    drop = "drop"
    null = "null"


class Engine(StrEnum):
    """What runs a command."""

    local = "local"
    ray = "ray"


class Evidence(StrEnum):
    """Which rows are evaluated."""

    all = "all"
    test = "test"
    time = "time"


class Adjustment(StrEnum):
    """What the ledger of findings promises."""

    family_wise = "family-wise"
    fdr = "fdr"


class Map(StrEnum):
    """Layouts of the 2-D maps."""

    auto = "auto"
    pca = "pca"
    tsne = "tsne"
    umap = "umap"


def _number(kind: type, low: float, below: float | None = None, most: int | None = None) -> Callable[[object], float]:
    """Parse a number in a range, and say what was given: typer's own message does not."""
    words = f"a {'whole ' if kind is int else ''}number of at least {low}"
    words += (f" and below {below}" if below else "") + (f" and at most {most}" if most else "")

    def parse(text: object) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if (
            value is None
            or not value >= low
            or (below is not None and not value < below)
            or (most is not None and value > most)
        ):
            given = str(text)
            raise typer.BadParameter(f"must be {words}; got {given if len(given) <= 40 else given[:37] + '...'!r}")
        return value

    return parse


def whole(low: int) -> Callable[[object], float]:
    """Parse a whole number of at least `low`."""
    return _number(int, low)


def fraction(text: object) -> float:
    """Parse a number of at least 0 and below 1."""
    return _number(float, 0, 1)(text)


def non_negative(text: object) -> float:
    """Parse a number of at least 0."""
    return _number(float, 0)(text)


def numbers(text: object) -> tuple[float, ...]:
    """Parse a comma-separated list of numbers, and say what was given.

    Examples
    --------
    >>> numbers("0.2, 1e-3")
    (0.2, 0.001)
    """
    try:
        return tuple(float(part) for part in str(text).split(","))
    except ValueError:
        raise typer.BadParameter(f"must be numbers separated by commas, e.g. 0.2,0.6; got {str(text)!r}") from None


def between(text: object) -> float:
    """Parse a number above 0 and below 1."""
    try:
        value = float(str(text))
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise typer.BadParameter(f"must be a number above 0 and below 1, such as 0.8; got {str(text)!r}")
    return value


def costs(text: object) -> tuple[float, ...]:
    """Parse the costs of a miss and of a needless action.

    Examples
    --------
    >>> costs("9,1")
    (9.0, 1.0)
    """
    try:
        found = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        found = ()
    if len(found) != 2 or not all(0 < one < float("inf") for one in found):
        raise typer.BadParameter(
            "must be two positive numbers, the cost of a miss (false negative) and that of a needless action (false "
            f"positive), such as 9,1; got {str(text)!r}"
        )
    return found


DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="A .parquet, .csv or .jsonl file, or a folder written by `miscal score`.")
]
RunDir = Annotated[str, typer.Argument(metavar="RUN_DIR", help="A folder written by `miscal discover`.")]
Confidence = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="Column of the model's confidence, in [0, 1]. Default: confidence, or a usual synonym."
    ),
]
Correct = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the outcome, 0 or 1. Default: correct, or a usual synonym.")
]
Probability = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the predicted probability of an event, in [0, 1], instead of --confidence: a risk, a forecast. "
        "Default with --event: probability, or a usual synonym.",
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column that says whether the event happened, instead of --correct: 0/1, false/true or no/yes, or any "
        "values with --positive. Default with --probability: event, or a usual synonym.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The value of the column of --event that is the event, e.g. late; or of --human, an approval.",
    ),
]
MissingAsBlank = Annotated[
    list[str] | None,
    typer.Option(
        "--missing-as-blank",
        metavar="COL",
        help="Column of the model that DATA does not have, or has no value of in some rows: it is taken as blank "
        "there, and the reason says so. The summary of the run has what that costs. May be repeated.",
    ),
]
Embeddings = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Embeddings of the inputs (.npy or .safetensors): one row for each row of DATA, in the same order.",
    ),
]
EmbeddingRows = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of row numbers, from 0: the row of the embeddings that belongs to each row of DATA. Default: they "
        "lie in the same order.",
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Columns that describe the inputs, alone or beside embeddings or texts: names or patterns, such as "
        "'x_*,age', or auto for every column that plays no other part. Numbers, dates, categories of any number of "
        "levels, with blanks. A name with a comma stands in double quotation marks, as in csv. The default is auto "
        "where nothing else says what the inputs are.",
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of texts, which are shown. They are inputs, too, beside the columns named, unless embeddings are "
        "given.",
    ),
]
Metadata = Annotated[
    str | None,
    typer.Option(
        metavar="COL,COL",
        help="Columns that say of what kind a row is, or auto for every column that plays no other part. The field and "
        "the correction see them, as they see --features, so `miscal calibrate` needs them too; beyond that, they come "
        "first in names, and colour the maps. A name with a comma stands in double quotation marks, as in csv.",
    ),
]
NamesOnly = Annotated[
    list[str] | None,
    typer.Option(
        "--names-only",
        metavar="COL",
        help="Columns that name what is found like --metadata, but that new rows will not have, so that neither field "
        "nor correction sees them; may be repeated.",
    ),
]
MethodOption = Annotated[
    Method, typer.Option("--method", help="How to estimate the field: our method, or the paper's.")
]
DeviceOption = Annotated[
    Device,
    typer.Option(
        "--device",
        help="Where --method paper trains. auto: on the GPU if there is one, otherwise on the CPU. --method auto has "
        "no use for a GPU.",
    ),
]
MethodSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Setting of --method paper instead of its default; may be repeated. min_mass=1: rows with hardly any "
        "neighbour get the estimate by the confidence alone. stop_hopeless=true: stop settings that cannot catch up, "
        "which saves time. neighbours=50: average over the 50 nearest rows. Others are sigmas, lambdas, max_epochs, "
        "patience and bank_size; a list is written as [0.1,0.3].",
    ),
]
Seed = Annotated[
    int, typer.Option(metavar="N", parser=_number(int, 0, most=LARGEST_SEED), help="Seed of all random numbers.")
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        metavar="E",
        parser=_number(float, 0, 1),
        help="Rows count as well calibrated where |delta| is at most this. Default: 0.05; of events half of the mean "
        "predicted probability, or of what is missing to 1, where that is less.",
        show_default=False,
    ),
]
MinRows = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=whole(1),
        help="The fewest rows of a regime whose gap is measured; 1, as in the paper, measures regimes of any size.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column that says train, val or test for each row; then the test rows alone are evaluated. Default: none.",
    ),
]
EvidenceOption = Annotated[
    Evidence | None,
    typer.Option(
        help="Rows whose outcomes count as evidence. all: every row, each judged by fits that never saw its outcome "
        "(default). test: only the test rows, which are a random tenth unless --split names them (default with --split "
        "and with --method paper). time: rows in five blocks of --time, each judged by what was learned "
        "of earlier ones; the first only teaches.",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        parser=whole(100),
        metavar="N",
        help="Learn the field from N rows, drawn at random; all rows are still evaluated and corrected. Default: all "
        "rows, or 200,000 of more than 500,000.",
        show_default=False,
    ),
]
AdjustmentOption = Annotated[
    Adjustment,
    typer.Option(
        help="Promise of the findings. family-wise: where nothing is hidden, at most one run in twenty names anything. "
        "fdr: names more; of the groups beyond the cut, at most one in twenty is expected to be false."
    ),
]
AllowLeak = Annotated[
    str | None,
    typer.Option(
        metavar="COL,COL",
        help="Columns to use although they tell the outcome as only what comes after it, because they are known before "
        "it. Others that do are left out, with an alarm.",
    ),
]
LeaveOut = Annotated[
    str | None,
    typer.Option(metavar="COL,COL", help="Columns, by name or pattern, that auto passes over: they play no part."),
]
Where = Annotated[
    str | None, typer.Option(metavar="EXPR", help="Condition that rows must meet, e.g. \"model == 'gpt-4o'\".")
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of weights: for how many rows each stands, up to a common factor."),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of groups: rows of one group stay together. COL:day takes the days of a column of dates (hour, "
        "week, month and year likewise).",
    ),
]
GroupOrAuto = Annotated[
    str,
    typer.Option(
        metavar="auto|COL|none",
        help="What is counted once: auto finds it (equal inputs, near copies, the column that widens intervals most); "
        "the values of a column, or COL:day for the days of a column of dates (hour, week, month and year likewise); "
        "none: every row.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of dates, or of numbers that rise with time: when each row was predicted. The report then shows "
        "field and findings over time, and --evidence time can go by it. It is no input unless --features names it.",
    ),
]
OnInvalidOption = Annotated[
    OnInvalid,
    typer.Option(
        "--on-invalid", help="What to do if rows have missing or invalid values: stop with an error, or drop them."
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of csv and jsonl files.")]
CsvEscape = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Character before quotation marks inside the quoted fields of a csv file, for instance '\\'. Default: "
        "such marks are doubled.",
        show_default=False,
    ),
]
EmbedModel = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="What turns --text into numbers: tfidf, or a sentence-transformers folder or hub id."
    ),
]
MapOption = Annotated[
    Map,
    typer.Option(
        "--map",
        help="Layout of the 2-D maps. auto: t-SNE, or PCA where fewer than 50 rows differ. UMAP can take longer than "
        "the fit.",
    ),
]
Threshold = Annotated[
    list[float] | None,
    typer.Option(
        metavar="T",
        parser=between,
        help="Threshold at which decisions are made: answers of at least this confidence are accepted, or rows of at "
        "least this risk acted on. May be repeated; the first is told first. A grid of others is always computed.",
        show_default=False,
    ),
]
Cost = Annotated[
    tuple | None,
    typer.Option(
        metavar="FN,FP",
        parser=costs,
        help="What a miss (false negative) and a needless action (false positive) cost, in any unit: the threshold "
        "that they imply is told first, with the net benefit before and after the correction.",
        show_default=False,
    ),
]
RedactText = Annotated[
    bool, typer.Option("--redact-text", help="Leave out texts, and the keywords and names that are made of them.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run folder if it exists.")]
OverwriteTable = Annotated[bool, typer.Option("--overwrite", help="Replace the table if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of text.")]


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


def several(texts: list[str] | None) -> tuple[str, ...]:
    """Read the names of columns of an option that may be repeated, each time with one name or several.

    Examples
    --------
    >>> several(["year,topic", '"last, first"']), several(None)
    (('year', 'topic', 'last, first'), ())
    """
    # readers of data take long to import
    from miscal.data.readers.columns import split_names

    return tuple(dict.fromkeys(name for text in texts or () for name in split_names(text)))


def method_settings(texts: list[str] | None) -> dict[str, object]:
    """Read settings of a method, each written as NAME=VALUE with the value as JSON.

    Parameters
    ----------
    texts : list of str or None
        As given on the command line.

    Returns
    -------
    dict of str to JSON values
        Empty for None.

    Raises
    ------
    InputError
        If one has no name or no value, the value is no JSON, or a name comes twice.

    Examples
    --------
    >>> method_settings(["min_mass=1", "sigmas=[0.1, 0.3]", "stop_hopeless=true"])
    {'min_mass': 1, 'sigmas': [0.1, 0.3], 'stop_hopeless': True}
    """
    found: dict[str, object] = {}
    for text in texts or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if name in found:
            raise InputError(f"--option gives {name} more than once: leave all but one out")
        try:
            if not name or not equals:
                raise ValueError
            found[name] = json.loads(value)
        except ValueError:
            raise InputError(
                "--option must be NAME=VALUE with a number, true, false, null or a list as its value, for example "
                f"min_mass=1 or sigmas=[0.1,0.3]; got {text!r}"
            ) from None
    return found
