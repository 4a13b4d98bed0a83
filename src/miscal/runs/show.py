"""Show the table of a column of a finished run, or a class of it, as lines for a terminal or as markdown."""

from pathlib import Path

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.document import Measure
from miscal.base.errors import FileError, InputError, command, either
from miscal.base.number_wording import spoken
from miscal.base.shown import escaped, wrapped
from miscal.base.vocabulary import vocabulary
from miscal.data.readers.names import find
from miscal.data.readers.source import own_parquet
from miscal.discovery.answer import words_of
from miscal.discovery.run import sealed_summary
from miscal.discovery.run_folder import COLUMNS_FILE
from miscal.discovery.summary_parts import Answer, ClassEvent
from miscal.discovery.tables import ColumnTable, tables_of
from miscal.findings.ledger.values import EXPLAINED, ColumnValue
from miscal.report.brief import finding_words
from miscal.report.formatting import bounds, count, decimals_for, percent, points, ratio
from miscal.report.opening import cut
from miscal.report.sheet import Column, Sheet, Table
from miscal.report.texts import begin, clean

LONGEST = 36
"""Characters of a value that are printed."""
NOTE = (
    "Intervals are of one value at a time, at 95 %: where nothing is hidden, up to one in twenty excludes zero. The "
    "marks allow for all groups that were tested. What is explained differs by itself, but the findings account for it "
    "in part or whole; what they leave stands behind the mark."
)


def show(run_dir: str | Path, by: str) -> ColumnTable:
    """Return the table of a column of a run folder: every value with its numbers and what the findings say of it.

    Examples
    --------
    >>> show("no/such/folder", "subject")
    Traceback (most recent call last):
    ...
    miscal.base.errors.FileError: no/such/folder is not a folder: give the folder of a run, made by `miscal.discover`
    """
    folder = Path(run_dir)
    summary, path = sealed_summary(folder), folder / COLUMNS_FILE
    if not path.exists():
        raise FileError(
            f"{folder} was made by an earlier miscal, which wrote no {COLUMNS_FILE}: run {command('discover')} again "
            "on its data"
        )
    tables = tables_of(own_parquet(path), name=str(path))
    if by not in tables and by in summary.data.columns.metadata:
        raise InputError(
            f"--by: column {by!r} has more different values than half of its rows, so that they name rows and not "
            "groups, and the run has no table of it"
        )
    if not tables:
        raise InputError(f"--by: {folder} has no table of any column: name columns with `miscal discover --metadata`")
    column, method = find(by, list(tables), what="--by"), summary.findings_method
    values, evidence = tables[column], summary.evidence if method is None else method.evidence
    n = sum(one.n for one in values)
    return ColumnTable(column, evidence, n, values, summary.kind, summary.settings.get("epsilon"))


def show_class(run_dir: str | Path, name: str) -> ClassEvent:
    """Return a class of a run folder, with its findings."""
    numbers = sealed_summary(run_dir).classes
    if numbers is None:
        raise InputError(
            f"--class: {run_dir} is no run of several classes, as "
            f"{either('`miscal discover --probabilities NAMES`', '`miscal.discover(probabilities=...)`')} makes them"
        )
    known = {one.name: one for one in numbers.classes}
    if name not in known:
        hint = did_you_mean(name, known, aside=True)
        raise InputError(f"--class: there is no class {name!r}{hint}; the classes are {value_list(known)}")
    return known[name]


# --- the table of a column -----------------------------------------------------------------------------------------


def table_lines(table: ColumnTable) -> list[str]:
    """Write the table of a column: heads, a line for each value, and what the numbers are."""
    notes = (line for sentence in _notes(table) for line in wrapped(sentence, indent=0))
    return [_title(table), "", *_values(table).lines(), "", *notes]


def table_markdown(table: ColumnTable) -> str:
    """Write the table of a column as GitHub-flavoured markdown, in the same words."""
    return "\n\n".join([f"### {escaped(_title(table))}", _values(table).markdown(), *map(escaped, _notes(table))])


def _title(table: ColumnTable) -> str:
    rows = "test rows" if table.evidence == "test" else "rows"
    return f"{clean(table.column)}: {len(table.values):,} values, {table.n:,} {rows}"


def _values(table: ColumnTable) -> Table:
    """Return what is shown of each value."""
    words, decimals = vocabulary(table.kind), decimals_for(table.epsilon)
    share = lambda one: percent(one, decimals if words.digits else 0)  # noqa: E731
    size = lambda one: _measured(one, decimals)  # noqa: E731
    columns = [
        Column("value", lambda one: cut(one.value, LONGEST)),
        Column("rows", "n", count),
        Column(words.heads[0], "accuracy", share),
        Column(words.heads[1], "confidence", share),
        *([Column(words.ratio, "observed_over_expected", _ratio)] if words.ratio else []),
        Column("residual", "residual", size),
        Column("hidden", "hidden", size),
        Column("after correction", "after", size),
        Column("mark", lambda one: _mark(one, decimals), number=False),
    ]
    return Table(columns, table.values)


def _notes(table: ColumnTable) -> tuple[str, str]:
    """Say what the columns are, and what the marks allow for."""
    words = vocabulary(table.kind)
    ratio = f"{begin(words.ratio)}: the one divided by the other. " if words.ratio else ""
    columns = (
        f"Residual: {words.rate} minus {words.probability}, in points. {ratio}Hidden: how much more (+) or less (-) "
        f"often {words.of_rows('the rows')} {words.than_equal_rows()}; after correction: "
        f"{words.than_equal_rows('corrected')}."
    )
    return columns, NOTE


def _mark(one: ColumnValue, decimals: int) -> str:
    if one.mark != EXPLAINED or one.conditional.value is None:
        return one.told
    return f"{one.told}, leaves {_measured(one.conditional, decimals)}"


def _ratio(measure: Measure) -> str:
    between = bounds(measure.interval, "ratio")
    return "-" if measure.value is None else f"{ratio(measure.value)}{f' ({between})' if between else ''}"


def _measured(size: Measure, decimals: int) -> str:
    low, high = size.interval or (None, None)
    if size.value is None or low is None or high is None:
        return "-"
    # ends are written in whole points, so that a line stays short; those near zero in tenths, to show their side of it;
    # where sizes are so small that they need more decimals, ends have as many
    short = 0 if decimals == 1 else decimals
    ends = (points(end, short + int(abs(end) < 0.0095 * 10.0**-short)) for end in (low, high))
    return f"{points(size.value, decimals)} ({' to '.join(ends)})"


# --- a class -------------------------------------------------------------------------------------------------------


def class_sheet(one: ClassEvent) -> Sheet:
    """Return the sheet of a class: its numbers before and after the correction, and its findings."""
    numbers = (
        f"class {one.name}: the label of {one.labels:,} rows ({spoken(one.rate)}), predicted in "
        f"{one.predicted:,}; its probability is {spoken(one.probability)} on average"
    )
    facts = [
        (name, f"smECE {score.smece or 0.0:.4f}, log loss {score.log_loss or 0.0:.4f}")
        for name, score in (("before", one.raw), ("after", one.corrected))
    ]
    nothing = "no finding" if one.looked_at else "not looked at: too few rows have it, or 20 classes have more"
    words = words_of(one.name)
    found = [
        (f"finding {place}", f"{finding.description}: {finding_words(finding, words, one.findings)}")
        for place, finding in enumerate(one.findings, start=1)
    ]
    answer = Answer(headline=numbers, reason="", action="")
    return Sheet("numbers", f"class {one.name}", answer, facts=[*facts, *(found or [("findings", nothing)])])
