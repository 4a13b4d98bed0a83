"""The options of a discovery and of a scan, of the command line and of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from miscal.base.errors import InputError
from miscal.base.options import between, costs, number, parameter
from miscal.base.process import LARGEST_SEED


def method_settings(texts: list[str]) -> dict[str, object] | None:
    """Read settings of a method, each written as NAME=VALUE with the value as JSON; None where there are none.

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
    for text in texts:
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
    return found or None


@dataclass(frozen=True)
class DiscoverySettings:
    """Settings of a discovery."""

    method: Literal["auto", "paper"] = parameter("How to estimate the field: our method, or the paper's.", "auto")
    quick: bool = parameter(
        "In seconds: the named findings, and a correction that can be read (a map of the confidence, and a shift for "
        "each of a few groups) instead of the field.",
        False,
    )
    option: Mapping[str, Any] | None = parameter(
        "Setting of --method paper instead of its default; may be repeated. min_mass=1: rows with hardly any "
        "neighbour get the estimate by the confidence alone. stop_hopeless=true: stop settings that cannot catch up, "
        "which saves time. neighbours=50: average over the 50 nearest rows. Others are sigmas, lambdas, max_epochs, "
        "patience and bank_size; a list is written as [0.1,0.3].",
        metavar="NAME=VALUE",
        repeat=method_settings,
    )
    seed: int = parameter("Seed of all random numbers.", 0, metavar="N", parse=number(int, 0, most=LARGEST_SEED))
    epsilon: float | None = parameter(
        "Rows count as well calibrated where |delta| is at most this. Default: 0.05; of events half of the mean "
        "predicted probability, or of what is missing to 1, where that is less.",
        metavar="E",
        parse=number(float, 0, below=1),
    )
    evidence: Literal["all", "test", "time"] | None = parameter(
        "Rows whose outcomes count as evidence. all: every row, each judged by fits that never saw its outcome "
        "(default). test: only the test rows, which are a random tenth unless --split names them (default with --split "
        "and with --method paper). time: rows in five blocks of --time, each judged by what was learned "
        "of earlier ones; the first only teaches."
    )
    sample: int | None = parameter(
        "Learn the field from N rows, drawn at random; all rows are still evaluated and corrected. Default: all "
        "rows, or 200,000 of more than 500,000.",
        metavar="N",
        parse=number(int, 100),
    )
    threshold: float | Sequence[float] = parameter(
        "Threshold of events and judges: rows of at least this risk are acted on, or answers that the judge passes "
        "with at least this probability accepted. What was promised of them is set beside what was observed. "
        "May be repeated.",
        (),
        metavar="T",
        parse=between,
        repeat=tuple,
    )
    cost: tuple[float, float] | None = parameter(
        "What a miss (false negative) and a needless action (false positive) cost, in any unit: the threshold that "
        "they imply is asked for.",
        metavar="FN,FP",
        parse=costs,
    )
    max_error: float | Sequence[float] = parameter(
        "Share of wrong decisions that is accepted: the run says what may be decided alone at it. May be repeated; "
        "0.01, 0.02, 0.05, 0.1 and 0.2 are always answered.",
        (),
        metavar="E",
        parse=between,
        repeat=tuple,
    )
    map: Literal["pca", "tsne", "umap"] = parameter(
        "Layout of the 2-D maps: principal components, t-SNE, or UMAP, which can take longer than the fit.", "pca"
    )
    device: Literal["auto", "cpu", "cuda"] = parameter(
        "Where --method paper trains. auto: on the GPU if there is one, otherwise on the CPU. --method auto has "
        "no use for a GPU.",
        "auto",
    )

    def of_discovery(self) -> dict[str, Any]:
        """Return them as :func:`miscal.discovery.discover.discover` calls them."""
        renamed = {"option": "options", "map": "map_method"}
        named = {renamed.get(name, name): value for name, value in vars(self).items() if name != "quick"}
        return named | {"method": self.estimator, "options": self.option or None}

    @property
    def estimator(self) -> str:
        """The name of the estimator that is meant."""
        return "shifts" if self.quick else self.method


@dataclass(frozen=True)
class ScanOptions:
    """Which column plays which part in a scan, and what is counted."""

    probability: str | None = parameter("Column of the predicted probability of an event, in [0, 1].", metavar="COL")
    event: str | None = parameter(
        "Column that says whether the event happened: 0/1, false/true, or any two values with --positive.",
        metavar="COL",
    )
    confidence: str | None = parameter(
        "Column of the confidence of an answer, instead of --probability.", metavar="COL"
    )
    correct: str | None = parameter("Column of 0 or 1, whether the answer is right, instead of --event.", metavar="COL")
    positive: str | None = parameter("The value of the outcome that counts as 1.", metavar="VALUE")
    columns: Any = parameter(
        "Columns whose values may name a finding: names separated by commas, or auto for every other column.",
        "auto",
        metavar="auto|COL,COL",
    )
    weight: str | None = parameter("Column of weights: for how many rows each stands.", metavar="COL")
    count: str | None = parameter(
        "Column of how many rows each row of the data stands for, with --events instead of --event.", metavar="COL"
    )
    events: str | None = parameter("Column of how many of these --count rows had the event.", metavar="COL")
    group: str | None = parameter(
        "Column of what is counted once, as rows of one day or of one person are; COL:day takes the days of a column "
        "of dates (hour, week, month and year likewise). none counts every row; auto takes a column named like an "
        "identity, or else the days of a column of dates, where these repeat.",
        "auto",
        metavar="auto|none|COL",
    )
    where: str | None = parameter("Condition that rows must meet, in the SQL of the engine.", metavar="EXPR")
    sql: str | None = parameter("Query whose rows are scanned, by DuckDB, instead of SOURCE.", metavar="QUERY")
    least_rows: int = parameter(
        "Merge cells of fewer rows, before anything is computed and before cells are written.",
        1,
        metavar="N",
        parse=number(int, 1),
    )
    stage: Literal["auto", "always", "never"] = parameter(
        "Whether the columns that are counted are first written, as numbers of cells, into a temporary file, of about "
        "20 bytes a row: several times as fast where rows are many. auto does so from a million rows on, with files, "
        "DuckDB and polars, where the disk has room.",
        "auto",
        metavar="auto|always|never",
    )
    show_sql: bool = parameter("Print on standard error what the engine is asked.", False)

    @property
    def kind(self) -> str:
        """Kind of the probability."""
        return "answer" if self.confidence is not None or self.correct is not None else "event"
