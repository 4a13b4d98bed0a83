"""Pages say what the tables hold, whichever of them are there."""

import html
import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest

from miscal.base.errors import CorruptFile, FileError
from miscal.report.formatting import metric
from miscal.study import pages
from miscal.study.answers import told
from miscal.study.claims import claims
from miscal.study.pages import write_pages
from miscal.study.paper import GAPS, NULLS, SEEDS
from miscal.study.plan_file import read_plan
from miscal.study.tables import ANSWERS
from miscal.study.verdict import summarise

from .conftest import PLAIN, save
from .made_tables import HOSTILE, frames, other_pairs, papers_pairs, tables

pytestmark = pytest.mark.whole

VOID = {"meta", "link", "img", "br", "path", "line", "circle", "rect"}


class Tree(HTMLParser):
    """Checks that every element is closed in order, and keeps tags, texts and addresses."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts, self.addresses = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def text_of(path):
    return " ".join(" ".join(Tree(path.read_text()).texts).split())


@pytest.fixture(scope="module")
def made():
    return tables(papers_pairs(6), seed=2)


def test_the_first_words_say_whether_the_pairs_are_the_papers(make_pages, made):
    first = text_of(make_pages(made) / "paper.html")
    assert "These are 6 of the paper's 48 pairs" in first
    assert "min_rows 30 (paper: 1)" in first
    assert "These are not the paper's pairs" in text_of(make_pages(tables(other_pairs(2)), "other") / "paper.html")
    mixed = text_of(make_pages(tables(papers_pairs(2) + other_pairs(1)), "mixed") / "paper.html")
    assert "Only 2 of the 3 pairs are the paper's" in mixed


def test_settings_are_named_of_all_pairs_or_of_how_many():
    pairs = papers_pairs(4)
    made = tables(pairs, methods=("paper",))
    rows = made["pairs"].with_columns(min_rows=1)
    plan = read_plan("paper48").model_dump(mode="json")
    made["pairs"] = rows
    assert summarise(made, ANSWERS, plan=plan)["settings"] == []
    made["pairs"] = rows.with_columns(epsilon=pl.when(pl.col("pair") == pairs[0]["pair"]).then(0.3).otherwise(0.05))
    found = summarise(made, ANSWERS, plan=plan)["settings"]
    assert found == ["epsilon 0.3 (paper: 0.05) in 1 of 4 pairs"]
    found = summarise(made, ANSWERS, plan=plan | {"split": "grouped"})["settings"]
    assert "split grouped (paper: permutation)" in found


def test_page_and_summary_say_the_same(make_pages, made):
    out = make_pages(made)
    summary = json.loads((out / "summary.json").read_text())
    page, first = text_of(out / "paper.html"), text_of(out / "index.html")
    own = made["pairs"].filter(method="paper", geometry="learned")
    assert summary["methods"]["paper"]["n_gap_above_zero"] == (own["gap_clipped"] > 0).sum()
    for fact in (fact for answer in summary["answers"] for fact in answer["facts"]):
        assert " ".join(told(fact).split()) in first
    assert summary["claims"]["paper"] == claims(made, "paper")
    for claim in summary["claims"]["paper"]:
        assert " ".join(claim["here"].split()) in page
    counts = cells((out / "paper.html").read_text(), "verdict", "<table")
    found = summary["methods"]["paper"]
    assert counts[1][1] == f"{found['n_gap_large']} of {found['n_pairs']}"
    assert counts[2][1] == f"{found['n_proved']} of {found['n_tested']}"


def test_the_table_of_pairs_has_every_pair_and_method(make_pages, made):
    page = (make_pages(made) / "paper.html").read_text()
    table = page[page.index('id="pairs"') : page.index('id="claims"')]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    assert len(rows) == 12
    for row, values in zip(made["pairs"].filter(geometry="learned").iter_rows(named=True), rows, strict=True):
        assert row["model"] in values
        assert row["gap"] is None or f'data-key="{row["gap"]}"' in values


def cells(page, section, after):
    """Texts of the rows of the first table after some words."""
    part = page[page.index(f'id="{section}"') :]
    part = part[part.index(after) :]
    rows = re.findall(r"<tr>(.*?)</tr>", part[: part.index("</table>")], re.DOTALL)[1:]
    return [
        [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split())
         for cell in re.split(r"</t[dh]>", row) if cell.strip()]
        for row in rows
    ]  # fmt: skip


def test_the_interval_of_a_gap_is_the_one_that_allows_for_noise(make_pages, made):
    page = (make_pages(made) / "paper.html").read_text()
    own = made["pairs"].filter(geometry="learned")
    for row, shown in zip(own.iter_rows(named=True), cells(page, "pairs", "<table"), strict=True):
        if row["gap"] is None:
            assert shown[10] == "\u2013"
            continue
        low, high = (f"{row[name]:+.3f}".replace("-", "\u2212").replace("+0.000", "0.000")
                     for name in ("gap_interval_low", "gap_interval_high"))  # fmt: skip
        assert shown[10].endswith(f"{low} to {high}")
        assert shown[14].startswith(f"{row['log_loss_saved_local']:+.3f}".replace("-", "\u2212"))


def test_where_a_study_holds_both_kinds_the_rates_of_events_are_marked(make_pages, made):
    first = made["pairs"]["pair"][0]
    outcome = pl.when(pl.col("pair") == first).then(pl.lit("event")).otherwise(pl.col("outcome"))
    out = make_pages(made | {"pairs": made["pairs"].with_columns(outcome=outcome)})
    page = (out / "paper.html").read_text()
    said = [shown[4] for shown in cells(page, "pairs", "<table")]
    pairs = made["pairs"].filter(geometry="learned")["pair"]
    assert ["event rate" in text for text in said] == [pair == first for pair in pairs]


def test_table_5_has_the_clipped_means_and_no_slice_without_a_gap(make_pages):
    everything = tables(papers_pairs(48), methods=("paper",), raw=False, seed=1)
    page = (make_pages(everything) / "paper.html").read_text()
    below = 0
    shown = cells(page, "tables", "Table 5, method paper")
    for row, (*_, gap, _, size) in zip(everything["pairs"].iter_rows(named=True), shown, strict=True):
        if row["gap"] is None:
            assert (gap, size) == ("\u2013", "none")
        else:
            draws = [max(0.0, row[name]) for name in ("gap_boot_mean_clipped", "gap_low", "gap_high")]
            assert gap == "{:.3f} {:.3f} to {:.3f}".format(*draws)
            assert (size == "none (gap \u2264 0)") is (row["gap"] <= 0)
            below += row["gap"] <= 0
    assert below


def test_numbers_of_the_papers_tables_stand_beside_ours(make_pages):
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    audited = [p for p in papers_pairs(48) if (p["dataset"], p["model"]) in NULLS.select("dataset", "model").rows()]
    more = tables(audited, methods=("paper",), raw=False)
    everything |= {name: more[name] for name in ("nulls", "seeds", "seed_pairs")}
    page = text_of(make_pages(everything) / "paper.html")
    for gap, low, high in GAPS.select("gap", "gap_low", "gap_high").rows():
        assert f"{metric(gap)} {metric(low)} to {metric(high)}" in page
    # the first of the made-up audits is of the paper's first audited pair
    name = {one: more["nulls"][one][0] for one in ("dataset", "model")}
    for table, column, digits in ((NULLS, "delta_std_null", 3), (SEEDS, "correlation", 2)):
        [row] = table.filter(**name).to_dicts()
        assert f"{row[f'{column}_mean']:.{digits}f} \u00b1 {row[f'{column}_std']:.{digits}f}" in page


def test_every_link_leads_to_a_file_of_the_study(make_pages, made):
    out = make_pages(made)
    for page in (out / "index.html", out / "paper.html"):
        content = page.read_text()
        tree = Tree(content)
        for address in tree.addresses:
            if address.startswith("#"):
                assert f'id="{address[1:]}"' in content
            elif not address.startswith("data:"):
                assert (page.parent / address).exists(), address


@pytest.mark.parametrize("missing", list(frames({})))
def test_a_missing_table_leaves_out_its_part_alone(make_pages, made, missing):
    out = save_without(make_pages, made, missing)
    Tree((out / "paper.html").read_text())


def save_without(make_pages, made, missing):
    return make_pages({name: table for name, table in made.items() if name != missing})


def test_a_study_of_nothing_has_a_page(make_pages):
    out = make_pages({"pairs": frames({})["pairs"]})
    assert "no pair is finished" in text_of(out / "paper.html")
    assert json.loads((out / "summary.json").read_text())["n_pairs"] == 0


def test_failures_and_the_plan_are_told(make_pages, tmp_path):
    out = tmp_path / "study"
    out.mkdir()
    (out / "plan.json").write_text(json.dumps({"pairs": [{"method": "both"}] * 7}))
    make_pages(tables(other_pairs(4), failed=1))
    page = text_of(out / "paper.html")
    assert "3 of 7 pairs of the plan are finished." in page
    assert "mmlu.jsonl: no such file" in page
    assert json.loads((out / "summary.json").read_text())["n_failures"] == 1


def test_no_id_of_a_pair_is_shown(make_pages):
    pairs = [{**pair, "pair": f"secret-id-{i}"} for i, pair in enumerate(other_pairs(4))]
    out = make_pages(tables(pairs))
    for page in (out / "index.html", out / "paper.html"):
        assert "secret-id" not in text_of(page)


@pytest.mark.parametrize("tail", ["", "/../../\0", "{{ 7 * 7 }}", pytest.param("x" * 10_000, id="long")])
def test_hostile_names_are_texts(make_pages, tail):
    plain, text = other_pairs(3), f"{HOSTILE}{tail}"
    hostile = [{**pair, "model": f"{i}{text}", "dataset": text, "family": text} for i, pair in enumerate(plain)]
    tame = [{**pair, "model": f"{i}x", "dataset": "x", "family": "x"} for i, pair in enumerate(plain)]
    pages = [make_pages(tables(each), name) for name, each in (("hostile", hostile), ("tame", tame))]
    written = [(out / "index.html", out / "paper.html") for out in pages]
    tags = [[Tree(path.read_text()).tags for path in some] for some in written]
    assert tags[0] == tags[1]
    for path in written[0]:
        assert not [one for one in ("\0", "x" * 1_000) if one in path.read_text()]
    content = (pages[0] / "paper.html").read_text()
    assert "<img src=x" not in content
    assert html.escape("<img src=x") in content


def test_the_same_tables_give_the_same_bytes(make_pages, made):
    out = make_pages(made)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    write_pages(out, paper=True)
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_nothing_is_asked_of_a_network(make_pages, made):
    out = make_pages(made)
    for page in (out / "index.html", out / "paper.html"):
        content = page.read_text()
        assert "default-src 'none'" in content
        assert not [address for address in Tree(content).addresses if re.match(r"[a-z]+:", address)
                    and not address.startswith("data:")]  # fmt: skip


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(FileError, match="no tables of a study"):
        write_pages(tmp_path)
    out = save(tmp_path, {"pairs": frames({})["pairs"].drop("gap")})
    with pytest.raises(CorruptFile, match=r"pairs\.parquet.*run `miscal study` again"):
        write_pages(out)


def test_a_registered_figure_reaches_the_page(make_pages, made):
    out = make_pages(made)
    page = (out / "paper.html").read_text()
    assert "A plain figure" in text_of(out / "paper.html")
    assert page.count("data:image/svg+xml") == 1
    assert 'href="figures/more.svg"' in page
    rising = next(claim for claim in claims(tables(papers_pairs(48)), "paper") if claim["figure"] == "sizes")
    whole = text_of(make_pages(tables(papers_pairs(48)), "whole") / "paper.html")
    assert "{says} Paper: {published}. Here: {here}".format(**rising) in whole


def test_claims_stand_at_the_figure_that_shows_them(make_pages, made, monkeypatch):
    """Interpreted pairs are of method auto alone, so that its claims stand there; elsewhere the paper's come first."""
    figures = tuple(PLAIN._replace(name=name) for name in ("gaps", "layouts"))
    monkeypatch.setattr(pages, "FIGURES", figures)
    out = save(make_pages(made).parent / "both", made)
    write_pages(out, paper=True)
    page = (out / "paper.html").read_text()
    for figure, method in (("gaps", "paper"), ("layouts", "auto")):
        section = page[page.index(f'<section id="{figure}"') :]
        section = html.unescape(section[: section.index("</section>")])
        assert f"by method {method}:" in section
        own = [claim for claim in claims(made, method) if claim["figure"] == figure]
        assert section.count("<li>") == len(own) > 0
        assert all(f"{claim['says']} <span" in section for claim in own)
