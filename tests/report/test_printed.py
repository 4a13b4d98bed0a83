"""What a run prints: sentences wrapped to a terminal, the strongest first, and nothing of regimes of a few rows."""

import json
from pathlib import Path

from miscal.base.shown import WIDTH
from miscal.discovery.summary import Measure, Summary
from miscal.report.printed import summary_lines


def summary_of(run):
    return Summary.model_validate(json.loads((run / "summary.json").read_text(encoding="utf-8")))


def test_lines_fit_a_terminal_and_the_path_is_whole(make_run):
    out = Path("a") / ("long" * 40)
    *lines, last = summary_lines(summary_of(make_run(500)), out)
    assert max(map(len, lines)) <= WIDTH
    assert last == f"report      {out / 'report.html'}"


def test_the_verdict_comes_first_and_what_was_read_last(make_run):
    found = summary_of(make_run(1500))
    lines = summary_lines(found, Path("run"))
    assert found.verdict.startswith(lines[0].strip())
    heads = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert heads.index("finding") < heads.index("over") < heads.index("correction") < heads.index("rows")


def test_a_regime_of_a_few_rows_is_not_printed(make_run):
    found = summary_of(make_run(500))
    few = tuple(regime.model_copy(update={"n": 8}) for regime in found.regimes)
    lines = summary_lines(found.model_copy(update={"regimes": few}), Path("run"))
    assert not any(line.startswith(("over ", "under ")) for line in lines)


def test_a_finding_whose_size_has_no_interval_gets_no_empty_brackets(make_run):
    found = summary_of(make_run(500))
    one = found.findings[0]
    bare = one.model_copy(update={"before": Measure(value=-0.26)})
    lines = "\n".join(summary_lines(found.model_copy(update={"findings": (bare,)}), Path("run")))
    assert "26 points less often than rows" in " ".join(lines.split())
    assert "()" not in lines
