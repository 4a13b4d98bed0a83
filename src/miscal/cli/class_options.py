"""Options of commands that read the probabilities of several classes."""

from typing import Annotated

import typer

Probabilities = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Predicted probabilities of three or more classes, which sum to 1, or their logarithms, instead of "
        "--confidence: columns by name or pattern, such as 'p_*', or a matrix (.npy or .safetensors) with a row for "
        "each row of DATA, and --classes.",
    ),
]
NewProbabilities = Annotated[
    str | None,
    typer.Option(
        "--probabilities",
        metavar="NAMES",
        help="For a model of several classes: the columns of their probabilities in the order of the classes, comma-"
        "separated, or a matrix (.npy or .safetensors) with a row for each row of DATA. Default: the columns that the "
        "model was fitted on.",
    ),
]
NewLabel = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COL",
        help="For a run of several classes: column of the class that each row has. Default: that of the run.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the class that each row has, with --probabilities. Default: label, or a usual synonym.",
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Names of the classes as the labels write them, in the order of --probabilities: a file with one on each "
        "line, or a list separated by commas. Default: what the pattern of the columns leaves open.",
    ),
]
