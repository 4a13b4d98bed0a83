"""The page as text: complete, and in words for every empty case."""

import json
import re

import polars as pl
import pytest

from miscal.report.frame import ASSETS, draw, environment, read_source
from miscal.report.map_data import MAX_ROWS
from miscal.report.page import PANELS, PROGRAMS, STYLES, render
from miscal.report.sheet import Fold

from .read_page import Page, page_of, written


def test_the_page_holds_in_order_every_panel_that_has_something_to_say(make_run):
    run = make_run(500)
    source = read_source(run)
    speaking = [fold.name for panel in PANELS if (fold := panel(source)) is not None]
    assert {"answer", "notes", "verdict", "findings", "atlas", "glossary"} <= set(speaking)
    assert re.findall(r'<section id="([^"]+)"', written(run)) == speaking


def test_a_new_panel_is_a_line_in_the_list_and_a_template(make_run, monkeypatch, tmp_path):
    (tmp_path / "panels").mkdir()
    (tmp_path / "panels/toy.html").write_text("<p>{{ summary.n | count }} & rows: {{ summary.warnings[0] }}</p>")
    toys = environment(tmp_path)
    monkeypatch.setattr(
        "miscal.report.frame.environment", lambda *own, **more: environment(*own, **more) if own else toys
    )

    def toy(source):
        return Fold("toy", "A toy", f"{source.summary.n} toys", [draw(source, "toy", summary=source.summary)])

    monkeypatch.setattr("miscal.report.page.PANELS", (*PANELS, toy))
    run = make_run(1500, payload="<b>hostile</b>")
    text = written(run)
    assert "<p>1,500 & rows: &lt;b&gt;hostile&lt;/b&gt;</p>" in text
    assert text.index('<section id="glossary"') < text.index('<section id="toy"')
    assert '<summary><h2 id="toy-title">A toy</h2><span class="said">1500 toys</span></summary>' in text


def test_templates_are_compiled_once_where_python_keeps_what_it_compiles(make_run, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.pycache_prefix", str(tmp_path / "kept"))
    run, pages = make_run(300), []
    for unwritten, kept in ((True, False), (False, True), (False, True)):
        monkeypatch.setattr("sys.dont_write_bytecode", unwritten)
        environment.cache_clear()
        pages.append(render(run).read_bytes())
        assert any((tmp_path / "kept").rglob("*.bin")) == kept
    environment.cache_clear()
    assert len(set(pages)) == 1


def test_colours_and_names_of_regimes_are_written_once():
    """Styles and program take them from the page's one list."""
    assets = "".join((ASSETS / name).read_text() for name in (*STYLES, *PROGRAMS))
    assert not re.findall(r"#(?:[0-9a-f]{3}){1,2}\b", assets)
    assert not re.findall(r"well calibrated|no local estimate", assets)


def test_the_page_says_what_the_summary_says(make_run):
    run = make_run(2000)
    summary = json.loads((run / "summary.json").read_text())
    visible = page_of(run).visible
    assert summary["warnings"][0] in visible
    assert "at least 10.6 points" in visible
    assert "at least 9.4 points" in visible
    assert summary["data"]["sha256"] in visible
    named = [item for regime in summary["regimes"] for item in regime.get("metadata", ())]
    assert len(named) == 2
    for item in named:
        assert f"topic {item['value']} (5.8 times)" in visible
    residual = summary["regimes"][0]["residual"]["value"]
    assert f"\u2212{abs(100 * residual):.1f}" in visible


@pytest.mark.parametrize(
    ("limit", "p_value", "said"),
    [(0.00043, 0.01, "at least 0.04 points"), (0.00043, 0.3, "none proven"), (0.0949, 0.0002, "at least 9.4 points")],
)
def test_a_limit_is_rounded_down_and_only_told_where_it_is_claimed(make_run, limit, p_value, said):
    def change(summary):
        summary["certificate"]["lower_bound_hidden"]["interval"][0] = limit
        summary["certificate"] |= {"p_value": p_value}

    text = " ".join(page_of(make_run(300, edit=change)).visible.split())
    tile = text[text.index(f"Hidden miscalibration {said}") :]
    assert "not above zero" not in tile[:200]


def test_a_miscalibration_that_smece_shows_is_not_called_unproven(make_run):
    def deny_limit(p_value):
        def change(summary):
            summary["certificate"] |= {"p_value_total": 1.0}
            summary["certificate"]["lower_bound_total"]["interval"][0] = 0.0
            summary["global"]["smece"]["p_value"] = p_value

        return change

    def tile(p_value):
        text = " ".join(page_of(make_run(300, edit=deny_limit(p_value))).visible.split())
        return text[text.index("Miscalibration ") :].removeprefix("Miscalibration ")[:20]

    assert tile(0.001).startswith("found")
    assert tile(0.4).startswith("none proven")


def test_corrections_stand_beside_ours_with_paired_intervals_and_none_is_called_best(make_run):
    text = written(make_run(1000))
    table = text[text.index("Against miscal, row by row") :]
    rows = [" ".join(re.sub("<.*?>", " ", row).split()) for row in re.findall(r"<tr.*?</tr>", table, flags=re.S)[:5]]
    lost = {row.split("  ")[0]: re.findall(r"[+\u2212]\d\.\d{4}", row) for row in rows[1:]}
    assert sorted(map(tuple, lost.values())) == [
        ("+0.0010", "\u22120.0010", "+0.0030"),
        ("+0.0110", "+0.0090", "+0.0130"),
        ("+0.0130", "+0.0110", "+0.0150"),
        ("+0.1200", "+0.1180", "+0.1220"),
    ]
    assert "best: " not in text


@pytest.mark.parametrize("kind", ["full", "empty"])
@pytest.mark.parametrize("n", [300, 3000])
def test_nothing_reads_none_or_nan(make_run, kind, n):
    page = page_of(make_run(n, kind=kind))
    assert not re.search(r"\b(None|NaN|nan|inf|undefined|Infinity)\b", page.visible)
    assert not [a for a in page.attributes if a[2] and re.search(r"\b(None|nan|inf)\b", a[2]) and a[1] != "class"]


def test_a_run_without_a_map_says_so(make_run):
    run = make_run(300, edit=lambda summary: summary.update(map=None))
    (run / "map.parquet").unlink()
    visible = page_of(run).visible
    assert "There is no map, because the run left no rows to show" in visible
    assert "0 of 0 rows" not in visible


def test_null_numbers_everywhere_still_make_a_page(make_run):
    def forget(summary):
        for part in summary["global"].values():
            part.update(value=None, interval=None)
        for regime in summary["regimes"]:
            regime.update(accuracy=None, confidence=None, brier=None)
            regime["residual"].update(value=None, interval=[None, None], p_value=None)
            regime["smece"].update(value=None, interval=None, floor=None, p_value=None)
        for bound in ("lower_bound_total", "lower_bound_hidden"):
            summary["certificate"][bound].update(value=None, interval=None)
        for name in ("all", "over", "under"):
            summary["curves"][name].update(raw=None, corrected=None)
        summary["curves"]["findings"] = []
        nothing = {name: {"value": None, "interval": None} for name in ("hidden", "conditional", "after")}
        blank = {"corrected": None, "odds_ratio": None, "fate": None, **nothing}
        summary["findings"] = [one | blank for one in summary["findings"]]
        summary["data"].update(path=None, sha256=None, x_source=None)

    visible = page_of(make_run(300, edit=forget)).visible
    assert not re.search(r"\b(None|NaN|nan)\b", visible)
    assert "too few test rows for a reliability curve" in visible


def test_the_same_run_gives_the_same_bytes(make_run):
    run = make_run(400)
    assert render(run).read_bytes() == render(run).read_bytes()


def test_a_sample_is_stated(make_run, monkeypatch):
    monkeypatch.setattr("miscal.report.map_data.MAX_ROWS", 200)
    page = page_of(make_run(1000))
    assert "a sample of 200 of 1,000 rows" in page.visible
    assert json.loads(page.data[0])["n"] == 200


@pytest.mark.whole
def test_large_runs_stay_below_ten_megabytes(make_run):
    """More rows than any map shows, with texts and metadata as large as they get."""
    run = make_run(2000)
    points = pl.read_parquet(run / "map.parquet")
    many = pl.concat([points] * (1 + MAX_ROWS // points.height))
    row = pl.int_range(many.height).cast(pl.String)
    many = many.with_columns(
        pl.lit("<&>\u4e2d" * 300).alias("text"), *((row + pl.lit("<é>" * 60)).alias(f"meta.id{k}") for k in range(9))
    )
    many.write_parquet(run / "map.parquet")
    page = render(run)
    assert page.stat().st_size < 10e6
    assert (
        "To keep the page small, the map leaves out these columns: id0"
        in Page(page.read_text(encoding="utf-8")).visible
    )
