"""The page holds data as text alone, and loads nothing."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miscal.report import render
from miscal.report.frame import embed, read_source
from miscal.report.page import build

from .read_page import PAYLOADS, Page, check_no_new_element, check_policy, page_of

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
    check_policy(render(make_run(120)).read_text(encoding="utf-8"))


def test_the_page_names_no_other_place(make_run):
    text = render(make_run(120)).read_text(encoding="utf-8")
    assert not re.findall(r"""(?:https?:)?//[a-z]+\.|\bimport\s*\(|@import|url\(""", text)
    assert not re.findall(
        r"\b(eval|Function|fetch|XMLHttpRequest|WebSocket|innerHTML|outerHTML|insertAdjacentHTML)\b", text
    )
