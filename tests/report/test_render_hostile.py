"""The page holds data as text alone, loads nothing; a damaged run is a typed error that leaves the old page."""

import contextlib
import json
import os
import re

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miscal.base.errors import CorruptFile, FileError
from miscal.discovery.summary import SCHEMA_VERSION
from miscal.report.frame import embed, read_source
from miscal.report.page import build, render

from .read_page import PAYLOADS, Page, check_no_new_element, check_policy, page_of, written

pytestmark = pytest.mark.whole

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(PAYLOADS), max_size=3)


def check_embedding(value):
    text = str(embed(value))
    assert not set(text) & set("<>&\u2028\u2029")
    page = Page(f'<script type="application/json">{text}</script><p>')
    assert page.tags == ["script", "p"]
    assert json.loads(page.data[0]) == value


@settings(max_examples=300)
@given(TEXTS)
def test_data_comes_back_from_the_page_and_ends_no_element(value):
    check_embedding(value)


@pytest.mark.slow
@settings(max_examples=3000)
@given(TEXTS)
def test_data_comes_back_in_three_thousand_cases(value):
    check_embedding(value)


@pytest.fixture(scope="module")
def plain(make_module_run):
    return Page(build(read_source(make_module_run(120, payload="x"))))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_in_every_sink_add_no_element(make_run, plain, payload):
    page = Page(build(read_source(make_run(120, payload=payload))))
    check_no_new_element(page, plain)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=st.text(st.sampled_from("<>&\"'`/=-!{}% scriptonea\u2028\u00e9\\"), min_size=1, max_size=40))
def test_random_markup_in_every_sink_adds_no_element(make_run, plain, payload):
    payload = f"x{payload}x"
    check_no_new_element(Page(build(read_source(make_run(120, payload=payload)))), plain)


def test_long_names_and_texts_are_cut_and_their_number_told(make_run):
    run = make_run(120, payload="y" * 100_000)
    page = render(run)
    assert page.stat().st_size < 4e6
    assert "characters)" in page.read_text(encoding="utf-8")


def test_lone_surrogates_are_shown_as_replacement_characters(make_run):
    run = make_run(120, edit=lambda summary: summary.update(warnings=["bad \ud800 byte \x00"]))
    assert "bad \ufffd byte \ufffd" in page_of(run).visible


def test_the_policy_names_exactly_our_code(make_run):
    check_policy(written(make_run(120)))


def test_the_page_names_no_other_place(make_run):
    text = written(make_run(120))
    assert not re.findall(r"""(?:https?:)?//[a-z]+\.|\bimport\s*\(|@import|url\(""", text)
    assert not re.findall(
        r"\b(eval|Function|fetch|XMLHttpRequest|WebSocket|innerHTML|outerHTML|insertAdjacentHTML)\b", text
    )


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


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", json.dumps({"schema_version": SCHEMA_VERSION}), "\ufeff{}", "[" * 100_000]
)
def test_a_damaged_summary_is_a_corrupt_file(make_run, content):
    run = make_run(120)
    (run / "summary.json").write_text(content)
    with pytest.raises(CorruptFile, match=r"summary\.json"):
        render(run)


@pytest.mark.parametrize("name", ["summary.json", "field.parquet", "map.parquet"])
def test_a_missing_file_is_named(make_run, name):
    run = make_run(120)
    (run / name).unlink()
    with pytest.raises(FileError, match=re.escape(name)):
        render(run)


@pytest.mark.parametrize("name", ["field.parquet", "map.parquet", "columns.parquet"])
@pytest.mark.parametrize("kept", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_table_is_a_corrupt_file(make_run, name, kept):
    run = make_run(120)
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(CorruptFile, match=re.escape(name)):
        render(run)


def test_a_missing_column_is_named(make_run):
    run = make_run(120)
    pl.read_parquet(run / "map.parquet").drop("learned_2").write_parquet(run / "map.parquet")
    with pytest.raises(CorruptFile, match="learned_2 is missing"):
        render(run)


@pytest.mark.parametrize("condition", ["{", "{}", "[]", "null", '{"kind": "value"}', '{"kind": "no such kind"}'])
def test_a_table_of_columns_without_conditions_is_a_corrupt_file(make_run, condition):
    run = make_run(120)
    table = pl.read_parquet(run / "columns.parquet").with_columns(condition=pl.lit(condition))
    table.write_parquet(run / "columns.parquet")
    with pytest.raises(CorruptFile, match=r"columns\.parquet"):
        render(run)


def test_a_failed_run_leaves_the_old_page(make_run):
    run = make_run(120)
    before = render(run).read_bytes()
    (run / "summary.json").write_text("{}")
    with pytest.raises(CorruptFile):
        render(run)
    assert (run / "report.html").read_bytes() == before
    kept = ["columns.parquet", "field.parquet", "map.parquet", "report.html", "summary.json"]
    assert sorted(os.listdir(run)) == kept


def test_an_unwritable_place_is_a_file_error(make_run):
    run = make_run(120)
    (run / "report.html").mkdir()
    (run / "report.html" / "x").touch()
    with pytest.raises(FileError, match=r"report\.html: Is a directory; check the path"):
        render(run)
    assert not [name for name in os.listdir(run) if name.startswith(".")]
