"""Publish the results of a study under benchmarks/notes/studies.

    python scripts/study_results.py NAME STUDY    take the tables of a finished study, and write its page
    python scripts/study_results.py NAME          write the page again from the tables published before

NAME is that of a plan in examples/studies, and STUDY the folder that `miscal study` wrote. The tables are published as
benchmarks/notes/studies/NAME/*.csv without those that show single rows of the data, and NAME.md beside the folder is
made from them.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from miscal.study.aggregates import raw_against_learned
from miscal.study.plan import METHODS
from miscal.study.tables import LEARNED, TABLES, of_method, read_tables, schema
from miscal.study.verdict import StudySummary, certificates, summarise

FOLDER = Path(__file__).parents[1] / "benchmarks" / "notes" / "studies"
LEFT_OUT = ("layouts", "failures", "curves", "histograms", "deferral", "proxy_curves")
"""Tables that show single rows, or are drawings in numbers."""
DIGITS = 6

Tables = Mapping[str, pl.DataFrame]


def publish(name: str, study: Path) -> None:
    """Copy the tables of a study."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in read_tables(study).items():
        if table in LEFT_OUT or rows.is_empty():
            (folder / f"{table}.csv").unlink(missing_ok=True)
            continue
        rounded = rows.with_columns(pl.col(column).round_sig_figs(DIGITS) for column, kind in rows.schema.items() if
                                    kind == pl.Float64)  # fmt: skip
        rounded.write_csv(folder / f"{table}.csv")


def published(name: str) -> dict[str, pl.DataFrame]:
    """Read the tables back. A table that is not there is empty; a column that was added since is null."""
    paths = {table: FOLDER / name / f"{table}.csv" for table in TABLES}
    return {
        table: pl.read_csv(path, schema=schema(table), missing_columns="insert")
        if path.exists()
        else pl.DataFrame(schema=schema(table))
        for table, path in paths.items()
    }


def page(name: str, tables: Tables) -> str:
    """Write the page of a study from its tables."""
    planned = tables["pairs"]["pair"].n_unique()
    summary = summarise(tables, planned, dict.fromkeys(METHODS, planned))
    parts = [
        f"# Results of `{name}`",
        f"From `miscal study examples/studies/{name}.yaml`; every number is in [{name}/]({name}), and "
        f"`python scripts/study_results.py {name}` writes this page from there.",
        "## In words",
        "\n".join(f"- {sentence}" for sentence in (*summary.beside_paper, *_raw(tables))),
        "## Pair by pair",
        "Numbers are of test rows. `gap`: smECE of the worse regime less that of all rows. `unsupported`: share of "
        "rows with few or none of the rows learned from nearby; under method paper, of a mass below 1. `hidden, at "
        "least`: the certificate's lower limit of the mean absolute hidden miscalibration, with its p-value adjusted "
        "for the pairs (Holm). `paper - auto`: log loss after the paper's correction less that after ours, on the same "
        "rows: ours is better where it is above 0. `saved` is the log loss of the raw confidences less that of the "
        "corrected ones, and `beyond a map` that of the best map of the confidence alone less it. Intervals are at "
        "95 %.",
        _pairs(tables),
        _corrections(tables),
        "## The paper's claims",
        "`here` is ours. A claim without a direction, such as a size, cannot hold or fail; one that rests on too few "
        "pairs is left open.",
        *_claims(summary),
    ]
    return "\n\n".join(parts) + "\n"


def _raw(tables: Tables) -> Iterable[str]:
    found = raw_against_learned(tables["pairs"])
    if found.height:
        raw, learned, larger = (
            f"{100 * float((found[name] > 0).mean() or 0.0):.0f} %" for name in ("raw", "learned", "difference")
        )
        yield (
            f"Raw against learned (method paper, {found.height} pairs): the gap is above 0 in {raw} of the pairs by "
            f"the raw inputs and in {learned} by the learned geometry; it is larger by the learned one in {larger}."
        )


def _number(value: float | None, low: float | None = None, high: float | None = None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if low is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pairs(tables: Tables) -> str:
    proofs = {m: {r["pair"]: r for r in certificates(tables["pairs"], m).iter_rows(named=True)} for m in METHODS}
    sides = {m: {r["pair"]: r for r in of_method(tables["pairs"], m, LEARNED).iter_rows(named=True)} for m in METHODS}
    head = ["pair", "test rows", "accuracy", "confidence"]
    head += [f"{what}, {m}" for what in ("gap", "unsupported (%)", "hidden, at least (p)") for m in METHODS]
    rows = []
    for pair in tables["pairs"]["pair"].unique(maintain_order=True):
        own = [sides[m].get(pair, {}) for m in METHODS]
        first = next(one for one in own if one)
        gaps = [_number(o.get("gap"), o.get("gap_interval_low"), o.get("gap_interval_high")) for o in own]
        rows.append(
            [pair, str(first["n_test"] or first["n"]), _number(first["accuracy"]), _number(first["confidence"]), *gaps]
            + [_percent(one.get("share_unsupported")) for one in own]
            + [_proof(proofs[m].get(pair)) for m in METHODS]
        )
    return _table(head, rows)


def _proof(row: dict | None) -> str:
    return "" if row is None else f"{_number(row['limit_hidden'])} ({row['p_adjusted']:.2g})"


def _corrections(tables: Tables) -> str:
    duels = {row["pair"]: row for row in tables["duels"].iter_rows(named=True)}
    sides = {m: {r["pair"]: r for r in of_method(tables["pairs"], m, LEARNED).iter_rows(named=True)} for m in METHODS}
    head = ["pair", "paper - auto", *(f"{what}, {m}" for what in ("saved", "beyond a map") for m in METHODS)]
    rows = []
    for pair in tables["pairs"]["pair"].unique(maintain_order=True):
        cells = [pair, _interval(duels.get(pair, {}), "saved")]
        rows.append(cells + [_interval(sides[m].get(pair, {}), name) for name in ("log_loss_saved",
                             "log_loss_saved_local") for m in METHODS])  # fmt: skip
    return _table(head, rows)


def _interval(row: dict, name: str) -> str:
    return _number(row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high"))


def _claims(summary: StudySummary) -> Iterable[str]:
    for method, claims in summary.claims.items():
        rows = [[one.says, one.place, one.published, one.here, one.answer] for one in claims]
        yield f"### Method {method}"
        yield _table(["claim", "place", "paper", "here", "holds here"], rows)


def main() -> None:
    """Publish, or write the page again."""
    name, *study = sys.argv[1:]
    if study:
        publish(name, Path(study[0]))
    (FOLDER / f"{name}.md").write_text(page(name, published(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
