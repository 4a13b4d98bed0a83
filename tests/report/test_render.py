"""The page as text: complete, escaped, in words for every empty case, typed errors for every damaged run."""

import contextlib
import json
import os
import re
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miscal.base.errors import CorruptFile, FileError, MismatchError
from miscal.calibration.metrics import METRICS, Metric
from miscal.report import render
from miscal.report.inline import digest, embed
from miscal.report.map_data import MAX_ROWS, map_payload
from miscal.report.page import PROGRAMS, STYLES, build, bundle
from miscal.report.panel import Panel
from miscal.report.panels import PANELS
from miscal.report.source import read_source

VOID = {"meta", "link", "input", "br"}
PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<!--<script>",
    "--><script>alert(1)</script>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "${alert(1)}`",
    "\u2028alert(1)//\u2029",
    "]]><a href=//evil.example>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "\u202egnp.exe <base href=//evil.example>",
    "\\u003cscript\\u003ealert(1)",
]


class Page(HTMLParser):
    """Tags, attributes, visible text and embedded data of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.data, self.open = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, text):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.data.append(text)
        elif tag not in ("script", "style"):
            self.texts.append(text)

    @property
    def visible(self):
        return " ".join(" ".join(self.texts).split())


def page_of(run, **options):
    return Page(render(run, **options).read_text(encoding="utf-8"))


def test_the_page_holds_every_panel_in_order(make_run):
    run = make_run(500, edit=lambda summary: summary.update(alarms=["Far too sure."]))
    text = render(run).read_text(encoding="utf-8")
    places = [text.index(f'<section id="{panel.name}"') for panel in PANELS]
    assert places == sorted(places)


def test_a_new_panel_is_one_object_in_the_list(make_run, monkeypatch):
    toy = Panel(
        "toy", "A toy", lambda source: source.summary, "<p>{{ view.n | count }} & rows: {{ view.verdict }}</p>", "Toy"
    )
    monkeypatch.setattr("miscal.report.page.PANELS", (*PANELS, toy))
    run = make_run(1500, payload="<b>hostile</b>")
    text = render(run).read_text(encoding="utf-8")
    assert "<p>1,500 & rows: &lt;b&gt;hostile&lt;/b&gt;</p>" in text
    assert text.index('<section id="glossary"') < text.index('<section id="toy"')
    assert '<a href="#toy">Toy</a>' in text


def test_a_panel_with_nothing_to_say_is_left_off(make_run, monkeypatch):
    monkeypatch.setattr("miscal.report.page.PANELS", (*PANELS, Panel("toy", "A toy", lambda source: None, "no", "Toy")))
    assert "toy" not in render(make_run(300)).read_text(encoding="utf-8")


@pytest.mark.parametrize("texts", [True, False])
def test_the_number_of_an_example_stands_apart_from_its_confidence(make_run, texts):
    run = make_run(3000)
    if not texts:
        pl.read_parquet(run / "map.parquet").drop("text").write_parquet(run / "map.parquet")
    glued = "".join(page_of(run).texts)
    field = pl.read_parquet(run / "field.parquet")
    for card in json.loads((run / "summary.json").read_text())["subregimes"]:
        for row in (*card["telling"], *card["exemplars"][:2]):
            assert f"Row {row:,}: confidence {100 * field['confidence'][row]:.0f}\u202f%, answer " in glued


def test_an_unconfirmed_subregime_says_so(make_run):
    visible = page_of(make_run(2000)).visible
    assert "Over-confident, confirmed on test rows" in visible
    assert "Under-confident, not confirmed on test rows" in visible


def test_colours_and_names_of_regimes_are_written_once():
    """Styles and program take them from the page's one list."""
    assets = bundle(STYLES) + bundle(PROGRAMS)
    assert not re.findall(r"#(?:[0-9a-f]{3}){1,2}\b", assets)
    assert not re.findall(r"well calibrated|no local estimate", assets)


@pytest.mark.promise("S11")
def test_redaction_reaches_the_typed_summary(make_run):
    def name_a_part(summary):
        summary["verdict"] = f'Less often right on "{summary["subregimes"][0]["name"]}".'

    source = read_source(make_run(500, edit=name_a_part), redact_text=True)
    assert [part.name for part in source.summary.subregimes] == [f"part {place}" for place in range(1, 7)]
    assert not any(part.keywords for part in source.summary.subregimes)
    assert source.summary.verdict == 'Less often right on "part 1".'
    assert set(source.map["subregime"].drop_nulls()) <= {"part 1", "part 2", "part 3", "part 4"}
    assert set(source.map["hidden_subregime"].drop_nulls()) <= {"part 5", "part 6"}


def test_the_page_says_what_the_summary_says(make_run):
    run = make_run(2000)
    summary = json.loads((run / "summary.json").read_text())
    visible = page_of(run).visible
    assert summary["verdict"] in visible
    assert summary["warnings"][0] in visible
    assert "at least 10.6 points" in visible
    assert "at least 9.4 points" in visible
    assert summary["data"]["sha256"] in visible
    for card in summary["subregimes"]:
        assert card["name"] in visible
    residual = summary["regimes"][0]["residual"]["value"]
    assert f"\u2212{abs(100 * residual):.1f}" in visible


def test_a_certificate_is_rounded_down(make_run):
    def raise_limit(summary):
        summary["certificate"]["lower_bound_hidden"]["interval"][0] = 0.0949

    assert "at least 9.4 points" in page_of(make_run(300, edit=raise_limit)).visible


def test_the_best_scores_are_marked(make_run):
    def scores(summary):
        for k, name in enumerate(("raw", "isotonic", "temperature", "platt", "miscal")):
            summary["correction"][name]["all"]["brier"] = 0.2 + 0.01 * (4 - k)
            summary["correction"][name]["all"]["smece"] = None

    text = render(make_run(1000, edit=scores)).read_text(encoding="utf-8")
    table = text[text.index('class="slice all"') : text.index('class="slice over"')]
    rows = re.findall(r"<tr.*?</tr>", table, flags=re.S)
    best = [re.findall(r"best: </span>([\d.]+)", row) for row in rows if "<td" in row]
    assert "0.200" in best[1]
    assert all("0.2" not in " ".join(cells) for k, cells in enumerate(best) if k != 1)


def test_a_registered_metric_is_a_column_that_marks_its_best(make_run, monkeypatch):
    auc = Metric("auc", "AUC", lambda y, f: 0.5, lambda y, f: None, lower_is_better=False, compares_corrections=True)
    monkeypatch.setitem(METRICS, "auc", auc)

    def score(summary):
        for place, comparison in enumerate(summary["correction"].values()):
            comparison["all"]["auc"] = 0.6 + 0.01 * place

    page = page_of(make_run(1000, edit=score))
    assert page.visible.count("AUC (higher is better)") == len(re.findall("Correction smECE", page.visible)) > 1
    assert "best: 0.640" in page.visible


@pytest.mark.promise("I12")
@pytest.mark.parametrize("kind", ["full", "empty"])
@pytest.mark.parametrize("n", [300, 3000])
def test_nothing_reads_none_or_nan(make_run, kind, n):
    page = page_of(make_run(n, kind=kind))
    assert not re.search(r"\b(None|NaN|nan|inf|undefined|Infinity)\b", page.visible)
    assert not [a for a in page.attributes if a[2] and re.search(r"\b(None|nan|inf)\b", a[2]) and a[1] != "class"]


@pytest.mark.promise("I12")
def test_empty_cases_are_said_in_words(make_run):
    visible = page_of(make_run(500, kind="empty")).visible
    for words in (
        "No hidden miscalibration was found",
        "none proven",
        "No test row lies in an over- or under-confident regime",
        "No coherent part of a regime",
        "No text column was given",
        "No metadata columns were given",
        "No candidates were compared",
    ):
        assert words in visible
    assert "Before you read on" not in visible


def test_a_subregime_without_test_rows_says_so(make_run):
    def empty(summary):
        summary["subregimes"][0].update(n=0, share=0.0, accuracy=None, confidence=None, confirmed=False)
        summary["subregimes"][0]["residual"].update(value=None, interval=None, p_value=None)

    assert "No test row belongs to this part" in page_of(make_run(500, edit=empty)).visible


def test_the_map_says_where_no_structure_is_claimed(make_run):
    assert "No local structure is claimed" in page_of(make_run(500, kind="empty")).visible
    assert "No local structure is claimed" not in page_of(make_run(500)).visible


def test_a_run_without_a_map_says_so(make_run):
    run = make_run(300, edit=lambda summary: summary.update(map=None))
    (run / "map.parquet").unlink()
    assert "There is no map, because the run left no rows to show" in page_of(run).visible


def test_a_constant_field_has_no_histogram(make_run):
    def flatten(summary):
        summary["histogram"] = {"edges": [0.0, 0.0], "over": [0], "good": [30], "under": [0]}

    assert "There is no histogram" in page_of(make_run(300, edit=flatten)).visible


def test_null_numbers_everywhere_still_make_a_page(make_run):
    def forget(summary):
        for part in summary["global"].values():
            part.update(value=None, interval=None)
        for regime in summary["regimes"]:
            regime.update(accuracy=None, confidence=None, brier=None)
            regime["residual"].update(value=None, interval=[None, None], p_value=None)
            regime["smece"].update(value=None, interval=None, floor=None, p_value=None)
        for card in summary["subregimes"]:
            card.update(accuracy=None, confidence=None, delta=None, p_value=None)
            card["residual"].update(value=None, interval=None)
        for bound in ("lower_bound_total", "lower_bound_hidden"):
            summary["certificate"][bound].update(value=None, interval=None)
        for pair in summary["curves"].values():
            pair.update(raw=None, corrected=None)
        summary["data"].update(path=None, sha256=None, x_source=None)

    visible = page_of(make_run(300, edit=forget)).visible
    assert not re.search(r"\b(None|NaN|nan)\b", visible)
    assert "too few test rows for a reliability curve" in visible


@pytest.mark.promise("S11")
def test_redacted_pages_hold_no_text_keyword_or_name(make_run):
    run = make_run(500)
    full, hidden = (render(run, redact_text=flag).read_text(encoding="utf-8") for flag in (False, True))
    for word in ("clause", "promisor", "backwards"):
        assert word in full
        assert word not in hidden
    assert "part 1" in hidden


@pytest.mark.promise("D1")
def test_the_same_run_gives_the_same_bytes(make_run):
    run = make_run(400)
    assert render(run).read_bytes() == render(run).read_bytes()


@pytest.mark.promise("F9")
def test_a_sample_is_stated(make_run, monkeypatch):
    monkeypatch.setattr("miscal.report.map_data.MAX_ROWS", 200)
    page = page_of(make_run(1000))
    assert "a sample of 200 of 1,000 rows" in page.visible
    assert json.loads(page.data[0])["n"] == 200


@pytest.mark.promise("F9")
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
    assert "Columns too large for this page were left off: id0" in Page(page.read_text(encoding="utf-8")).visible


# --- security -------------------------------------------------------------------------------------------------------


TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(PAYLOADS), max_size=3)


def check_embedding(value):
    text = str(embed(value))
    assert not set(text) & set("<>&\u2028\u2029")
    page = Page(f'<script type="application/json">{text}</script><p>')
    assert page.tags == ["script", "p"]
    assert json.loads(page.data[0]) == value


@pytest.mark.promise("S1")
@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_data_comes_back_from_the_page_and_ends_no_element(value):
    check_embedding(value)


@pytest.mark.promise("S1")
@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(TEXTS)
def test_data_comes_back_in_three_thousand_cases(value):
    check_embedding(value)


@pytest.fixture(scope="module")
def plain_tags(make_module_run):
    return Page(build(read_source(make_module_run(120, payload="x")))).tags


def check_harmless(page, plain_tags):
    assert page.tags == plain_tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("style", "srcdoc")]
    links = {value for _, name, value in page.attributes if name in ("href", "src", "action")}
    assert all(link.startswith("#") or link == "data:," for link in links)


@pytest.mark.promise("S1")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_in_every_sink_add_no_element(make_run, plain_tags, payload):
    page = Page(build(read_source(make_run(120, payload=payload))))
    check_harmless(page, plain_tags)


@pytest.mark.promise("S1")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.text(st.sampled_from("<>&\"'`/=-!{}% scriptonea\u2028\u00e9\\"), min_size=1, max_size=40))
def test_random_markup_in_every_sink_adds_no_element(make_run, plain_tags, payload):
    payload = f"x{payload}x"
    check_harmless(Page(build(read_source(make_run(120, payload=payload)))), plain_tags)


@pytest.mark.promise("S12")
def test_long_names_and_texts_are_cut_and_their_number_told(make_run):
    run = make_run(120, payload="y" * 100_000)
    page = render(run)
    assert page.stat().st_size < 4e6
    assert "characters)" in page.read_text(encoding="utf-8")


@pytest.mark.promise("F5")
def test_lone_surrogates_are_shown_as_replacement_characters(make_run):
    run = make_run(120, edit=lambda summary: summary.update(warnings=["bad \ud800 byte \x00"]))
    assert "bad \ufffd byte \ufffd" in page_of(run).visible


@pytest.mark.promise("S2")
def test_the_policy_names_exactly_our_code(make_run):
    text = render(make_run(120)).read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    program = re.search(r"<script>(.*)</script>", text, flags=re.S)[1]
    style = re.search(r"<style>(.*)</style>", text, flags=re.S)[1]
    assert f"script-src '{digest(program)}'" in policy
    assert f"style-src '{digest(style)}'" in policy


@pytest.mark.promise("S2")
def test_the_page_names_no_other_place(make_run):
    text = render(make_run(120)).read_text(encoding="utf-8")
    assert not re.findall(r"""(?:https?:)?//[a-z]+\.|\bimport\s*\(|@import|url\(""", text)
    assert not re.findall(
        r"\b(eval|Function|fetch|XMLHttpRequest|WebSocket|innerHTML|outerHTML|insertAdjacentHTML)\b", text
    )


# --- damaged runs ---------------------------------------------------------------------------------------------------


def paths(value, before=()):
    """Every key of a summary that is not inside a free-form part."""
    free = {"settings", "versions", "timing", "candidates", "chosen", "metadata", "correction"}
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*before, key)
            if key not in free:
                yield from paths(inner, (*before, key))
    elif isinstance(value, list) and value:
        yield from paths(value[0], (*before, 0))


@pytest.mark.promise("F3")
def test_a_missing_key_is_a_typed_error_or_harmless(make_run):
    run = make_run(120)
    original = (run / "summary.json").read_text()
    refused = []
    for path in paths(json.loads(original)):
        (run / "summary.json").write_text(json.dumps(without(json.loads(original), path)))
        with contextlib.suppress(CorruptFile):
            render(run)
            continue
        refused.append(path)
    assert len(refused) > 80


def without(summary, path):
    holder = summary
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return summary


def test_the_missing_key_is_named(make_run):
    with pytest.raises(CorruptFile, match=r"regimes\.0\.residual"):
        render(make_run(120, edit=lambda summary: summary["regimes"][0].pop("residual")))


@pytest.mark.promise("F3")
@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"schema_version": 1}', "\ufeff{}", "[" * 100_000])
def test_a_damaged_summary_is_a_corrupt_file(make_run, content):
    run = make_run(120)
    (run / "summary.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"summary\.json"):
        render(run)


@pytest.mark.promise("C16")
def test_a_newer_summary_is_refused(make_run):
    with pytest.raises(MismatchError, match="newer"):
        render(make_run(120, edit=lambda summary: summary.update(schema_version=99)))


@pytest.mark.promise("F1")
@pytest.mark.parametrize("name", ["summary.json", "field.parquet", "map.parquet"])
def test_a_missing_file_is_named(make_run, name):
    run = make_run(120)
    (run / name).unlink()
    with pytest.raises(FileError, match=re.escape(name)):
        render(run)


@pytest.mark.promise("F2")
@pytest.mark.parametrize("name", ["field.parquet", "map.parquet"])
@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_table_is_a_corrupt_file(make_run, name, kept):
    run = make_run(120)
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(CorruptFile, match=re.escape(name)):
        render(run)


@pytest.mark.promise("F1")
def test_a_missing_column_is_named(make_run):
    run = make_run(120)
    pl.read_parquet(run / "map.parquet").drop("learned_2").write_parquet(run / "map.parquet")
    with pytest.raises(CorruptFile, match="learned_2 is missing"):
        render(run)


@pytest.mark.promise("C4")
def test_a_failed_run_leaves_the_old_page(make_run):
    run = make_run(120)
    before = render(run).read_bytes()
    (run / "summary.json").write_text("{}")
    with pytest.raises(CorruptFile):
        render(run)
    assert (run / "report.html").read_bytes() == before
    assert sorted(os.listdir(run)) == ["field.parquet", "map.parquet", "report.html", "summary.json"]


@pytest.mark.promise("C13")
def test_an_unwritable_place_is_a_file_error(make_run):
    run = make_run(120)
    (run / "report.html").mkdir()
    (run / "report.html" / "x").touch()
    with pytest.raises(FileError, match="cannot be written"):
        render(run)
    assert not [name for name in os.listdir(run) if name.startswith(".")]


def test_the_payload_has_one_entry_per_row(make_run):
    payload = map_payload(read_source(make_run(250)))
    for values in payload["fields"].values():
        assert len(values) == 250
    for key in ("row", "hidden_regime", "confidence", "corrected", "correct", "regime", "text"):
        assert len(payload[key]) == 250
    for pane in payload["panes"]:
        assert len(pane["x"]) == len(pane["y"]) == 250
