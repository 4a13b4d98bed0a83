"""``miscal label-next``: which rows to label next, and how many."""

from typing import TYPE_CHECKING, Annotated

import typer

from miscal.base.options import given
from miscal.cli.options import OutTable, OverwriteTable, RunDir, Verbose
from miscal.data.columns import NewColumns
from miscal.runs.settings import DiscoverySettings

if TYPE_CHECKING:
    from miscal.runs.label_next import LabelPlan

Pool = Annotated[
    str,
    typer.Argument(metavar="POOL", help="A .parquet, .csv or .jsonl file of rows like those of the run, not labelled."),
]
MOST_FINDINGS = 8
"""Findings of which it is printed how many rows are to be labelled."""
SHOWN, _TEXT = 5, 160
"""Rows whose text is printed, and characters of each."""
Labels = Annotated[int, typer.Option("--labels", metavar="N", min=1, help="How many rows to choose.")]
Taken = Annotated[
    NewColumns, "confidence", "probability", "judge", "probabilities", "embeddings", "embedding_rows", "features",
    "text", "missing_as_blank", "where", "encoding",
]  # fmt: skip


def command(
    run_dir: RunDir,
    pool: Pool,
    out: OutTable,
    columns: Taken,
    settings: Annotated[DiscoverySettings, "seed"],
    labels: Labels = 100,
    overwrite: OverwriteTable = False,
    verbose: Verbose = False,
) -> None:
    """Choose the rows of a pool whose labels say most.

    The table has the columns row, chosen, labelling_probability, corrected and finding. Keep labelling_probability with
    the labels: `miscal discover --labelling-probability` needs it for rates that hold.
    """
    from miscal.runs.label_next import label_next

    options = given(columns) | given(settings)
    plan = label_next(run_dir, pool, labels=labels, out=out, overwrite=overwrite, **options)
    for line in (verbose_lines if verbose else plan_lines)(plan):
        print(line)
    print(f"table       {out}")


def plan_lines(plan: "LabelPlan") -> list[str]:
    """Tell in three lines what the labels will show; then how many go to each finding, and the first rows."""
    from miscal.report.opening import aligned, cut, opening_lines

    rows = [(cut(one.description, 70), f"{one.n:,}", f"{one.chosen:,}") for one in plan.findings]
    lines = opening_lines(plan.answer)
    if rows:
        lines += ["", *aligned(("finding", "rows", "to label"), rows[:MOST_FINDINGS])]
    if len(rows) > MOST_FINDINGS:
        lines.append(f"{len(rows) - MOST_FINDINGS} more: --verbose")
    first = [(about, said) for about, said in _facts(plan) if about not in ("finding", "shows")]
    return [*lines, "", *(f"{about:<12}{cut(said, 88)}" for about, said in first)]


def verbose_lines(plan: "LabelPlan") -> list[str]:
    """Tell which rows were chosen, and what their labels will show."""
    from miscal.base.shown import fact_lines

    return fact_lines(_facts(plan))


def _facts(plan: "LabelPlan") -> list[tuple[str, str]]:
    from miscal.report.texts import short

    some = list(plan.texts.items())[:SHOWN]
    chosen = int(plan.table["chosen"].sum())
    left = f"; {plan.already:,} that have a label were left out" if plan.already else ""
    facts = [("rows", f"{chosen:,} of {plan.table.height:,} rows chosen{left}")]
    facts += [("to label", f"row {row:,}: {short(' '.join(text.split()), _TEXT)}") for row, text in some]
    if (more := len(plan.texts) - SHOWN) > 0:
        facts.append(("", f"and {more:,} more in the table"))
    facts += [("finding", f"{one.description}: {one.chosen:,} of {one.n:,} rows") for one in plan.findings]
    if plan.detectable is None:
        facts.append(("shows", "too few to find a group of a tenth of the labelled rows, however far it is off"))
    else:
        shift = f"{100 * plan.detectable:.0f} points"
        facts.append(
            ("shows", f"with them, a group of a tenth of all labels is found in 80 % of cases if it is off by {shift}")
        )
    if plan.halved is not None:
        more = plan.halved.more
        halved = "no labels of these rows halve it" if more is None else f"{more:,} labels at random would halve it"
        facts.append(("interval", f"of the overall rate: {100 * plan.halved.width:.1f} points wide; {halved}"))
    return facts
