"""Options of commands that read what a judge and people say of answers."""

from typing import Annotated

import typer

Judge = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="What a judge says of each answer, instead of --confidence: a probability, a scale such as 1 to 5, or "
        "pass and fail; higher where it approves more.",
    ),
]
Human = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="With --judge: whether people approve (1/0, pass/fail, yes/no; --positive names another word). Blank "
        "where nobody has looked: such rows still say how often people would approve.",
    ),
]
LabellingProbability = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="With --judge: the probability by which each row was chosen for people to judge, where they differ.",
    ),
]
NewJudge = Annotated[
    str | None,
    typer.Option("--judge", metavar="COL", help="Column of the judge's score. Default: that of the run."),
]
