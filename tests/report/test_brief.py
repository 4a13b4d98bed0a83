"""A run on a terminal: at most thirty lines of a hundred columns, with bars where the terminal has them."""

import json
import re
from pathlib import Path

import pytest

from miscal.discovery.summary import Summary
from miscal.report.brief import brief_lines
from miscal.report.sheet import MOST_ROWS, PATHS, columns_of

from .conftest import FINDING, RunMaker
from .read_page import PAYLOADS

MOST_GROUPS = MOST_ROWS - 1
GOLDEN = Path(__file__).parent / "golden"
NAMES = (
    *PAYLOADS,
    "a\nb\tc",
    "\x1b[31mred\x1b[0m",
    "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 300,
    "x" * 5_000,
    "e\u0301" * 90,
)
SIZES = (-0.25, 0.14, -0.1, 0.06, -0.043, 0.03, -0.022, 0.008, 0.004)


def sized(place, hidden, **changed):
    half = 0.6 * abs(hidden)
    about = {"description": f"place = {place}, kind = {'abc'[place % 3]}", "n": 4000 // (place + 1), **changed}
    measure = {"value": hidden, "interval": None if place == 3 else [hidden - half, hidden + half]}
    told = {"accuracy": 0.7 + hidden, "corrected": None if place == 2 else 0.7 + 0.8 * hidden}
    return {**FINDING, **about, **told, "hidden": measure, "sign": "over" if hidden < 0 else "under"}


def column(name, **about):
    return {"name": name, "read_as": "category", "levels": 9, "missing": 0, **about}


def summary_of(run, **changed):
    return Summary.model_validate(json.loads((run / "summary.json").read_text(encoding="utf-8")) | changed)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with findings of every size, of which one has no interval and one no correction, and five notes."""
    run = RunMaker(tmp_path_factory.mktemp("brief"))(500)
    return summary_of(
        run,
        findings=[sized(place, hidden) for place, hidden in enumerate(SIZES)],
        warnings=[f"note {number} is about the data" + " and goes on" * 9 * (number == 2) for number in range(1, 6)],
        columns=[column("tail number", leak=0.999), column("id", left_out="it names rows")],
    )


def check_golden(name, lines):
    assert "\n".join(lines) + "\n" == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("bars", [True, False], ids=["bars", "plain"])
def test_a_run_is_printed_as_the_golden_file_has_it(made, bars):
    check_golden(f"brief_{'bars' if bars else 'plain'}.txt", brief_lines(made, Path("my run"), bars=bars))


@pytest.mark.parametrize("bars", [True, False], ids=["bars", "plain"])
def test_a_run_in_which_nothing_was_found_is_printed_as_the_golden_file_has_it(make_run, bars):
    check_golden("brief_nothing.txt", brief_lines(summary_of(make_run(500, kind="empty")), Path("run"), bars=bars))


def test_what_may_not_be_off_by_itself_is_counted_and_not_printed(make_run):
    found = [sized(place, 0.1) for place in range(3)]
    found[1] |= {"hidden": {"value": 0.1, "interval": [-0.02, 0.2]}}
    summary = summary_of(make_run(120), findings=found)
    lines = brief_lines(summary, Path("run"))
    assert [one for one in range(3) if any(line.startswith(f"place = {one}") for line in lines)] == [0, 2]
    assert "1 more: miscal show run" in lines
    assert any(line.startswith("place = 1") for line in brief_lines(summary, Path("run"), every=True))


def test_plain_text_is_plain(made):
    lines = brief_lines(made, Path("run"), bars=False)
    assert "\n".join(lines).isascii()
    cells = [line[20:] for line in brief_lines(made, Path("run"))]
    assert [re.sub(r"[█#]", "", line[20:]).split() for line in lines[4:12]] == [
        re.sub("[█#]", "", line).split() for line in cells[4:12]
    ]


def test_every_group_is_printed_where_all_are_asked_for(made):
    brief, whole = (brief_lines(made, Path("run"), every=every) for every in (False, True))
    assert "1 more: miscal show run" in brief
    assert not any("more: miscal show" in line for line in whole)
    assert sum(line.startswith("place = ") for line in brief) == MOST_GROUPS
    assert sum(line.startswith("place = ") for line in whole) == len(SIZES)


@pytest.mark.parametrize("bars", [True, False], ids=["bars", "plain"])
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names_and_forty_findings_fit_thirty_lines(make_run, name, bars):
    changed = {
        "findings": [sized(place, 0.3, description=f"{name} {place}", n=12_345_678) for place in range(40)],
        "warnings": [f"{name} {place}" for place in range(9)],
        "columns": [column(f"{name} {place}", leak=0.9, left_out="leak") for place in range(9)]
        + [column(f"{name} {place}", left_out="blank") for place in range(9)],
        "answer": {line: " ".join([name] * 25) for line in ("headline", "reason", "action")},
        "n": 123_456_789,
    }
    lines = brief_lines(summary_of(make_run(120, payload="x"), **changed), Path("run"), bars=bars)
    assert len(lines) <= 30
    assert max(map(columns_of, lines)) <= 100
    # nothing that a terminal would obey
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "".join(lines))
    assert {line.split()[0] for line in lines[-2:]} == {"page", "next"}


def test_a_mark_stands_where_it_is_not_known_whether_the_correction_helps_and_is_explained_where_it_stands(make_run):
    def printed(unsure, **changed):
        found = [sized(at, 0.1, fate="not known" if at in unsure else "corrected", **changed) for at in range(12)]
        return brief_lines(summary_of(make_run(120), findings=found), Path("run"))

    lines = printed({1})
    assert [line.startswith("place = 1,") for line in lines if line.endswith("%?")] == [True]
    assert any(line.startswith("corrected ?  ") for line in lines)
    # of groups that are not printed nothing is explained
    for places, changed in ((set(), {}), ({MOST_GROUPS}, {}), ({MOST_GROUPS - 1}, {"description": "word " * 30})):
        assert not any("?" in line for line in printed(places, **changed)), places
    assert len(printed(set(range(12)), description="word " * 30)) <= 30


def test_numbers_that_are_not_there_leave_their_cells_empty(make_run):
    nothing = {"value": None, "interval": None}
    finding = {**FINDING, "hidden": nothing, "after": nothing, "corrected": None}
    found = summary_of(make_run(120), findings=[finding])
    text = "\n".join(brief_lines(found, None))
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert "found.save(FOLDER)" in text


def test_paths_and_commands_are_never_cut(made):
    folder = Path("a") / ("long name" * 40)
    lines = brief_lines(made, folder)
    assert f"page         {folder}/report.html" in lines
    assert f"next         miscal calibrate '{folder}' NEW.parquet --keep all --out corrected.parquet" in lines
    assert max(len(line) for line in lines if not line.startswith(PATHS) and "more: " not in line) <= 100
