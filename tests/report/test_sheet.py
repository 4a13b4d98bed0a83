"""Sheets, of every command that has one: no text of a user is markup, nothing is large, and all printings agree."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import miscal

from ..runs.compare.test_sheet import comparison
from ..runs.monitor.test_page import monitoring, question
from .read_page import PAYLOADS, Page, check_no_new_element, check_policy, check_terminal
from .visits import BROWSED, HOSTILE, Visit, browser  # noqa: F401 - a fixture

SHEETS = {
    "comparison": lambda text: comparison(text).shown(),
    "comparison of two sets": lambda text: comparison(text, same_rows=False).shown(),
    "monitor": lambda text: monitoring(text).shown(),
    "monitor without rows": lambda text: monitoring(text, rows=0).shown(),
}


def scanned(text):
    """A scan in which a value of a column, which is off, is a text."""
    rng = np.random.default_rng(0)
    kind, risk = rng.choice(["a", "b"], 2_000), rng.uniform(0.3, 0.7, 2_000)
    late = rng.random(2_000) < risk + np.where(kind == "a", 0.2, -0.2)
    frame = pl.DataFrame({"risk": risk, "late": late, "kind": np.where(kind == "a", text, "b")})
    return miscal.scan(frame, probability="risk", event="late").shown()


each = pytest.mark.parametrize("made", SHEETS.values(), ids=SHEETS)


@each
def test_no_text_of_a_user_is_markup(made):
    page, notebook = Page(made("x").page()), Page(made("x").html())
    for payload in PAYLOADS:
        sheet = made(payload)
        check_no_new_element(Page(sheet.page()), page)
        assert Page(sheet.html()).tags == notebook.tags


@each
def test_a_long_text_is_cut_wherever_it_stands(made):
    sheet = made("x" * 10_000)
    assert all("x" * 1_000 not in text for text in (sheet.page(), sheet.html(), sheet.markdown()))
    check_terminal(sheet.lines([("page", "out/page.html")]))


@each
def test_every_printing_says_the_three_lines(made):
    sheet = made("law")
    texts = " ".join(sheet.lines()), Page(sheet.page()).visible, Page(sheet.html()).visible, sheet.markdown()
    for said, text in product((sheet.answer.headline, sheet.answer.reason), texts):
        assert said.split(":")[0] in text


@each
def test_links_lead_to_parts_of_the_page_and_only_our_code_runs(made):
    text = made("x").page()
    page = Page(text)
    places = [value for _, name, value in page.attributes if name == "id"]
    assert len(places) == len(set(places))
    assert {value[1:] for _, name, value in page.attributes if name == "href" and value[0] == "#"} <= set(places)
    check_policy(text)


@pytest.mark.parametrize("bars", [True, False])
def test_a_terminal_has_thirty_lines_at_most_however_much_there_is(bars):
    found = monitoring("a very long name of something " * 9)
    many = tuple(question(f"finding:{k}", "long " * 40) for k in range(40))
    found = found.model_copy(update={"questions": (*found.questions, *many), "warnings": ("much " * 80,) * 20})
    lines = found.shown().lines([("page", "run/monitor.html")], bars=bars)
    check_terminal(lines)
    assert any("more: see the page" in line for line in lines)
    if not bars:
        "\n".join(lines).encode("ascii")


@pytest.mark.whole
@pytest.mark.browser
@BROWSED[-1]
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("made", [*SHEETS.values(), scanned], ids=[*SHEETS, "scan"])
def test_a_browser_draws_it_and_every_cell_says_what_it_is(browser, tmp_path, width, made):  # noqa: F811 - a fixture
    """On a phone the heads of the columns are hidden, so each cell has its own."""
    file = tmp_path / "page.html"
    file.write_text(made(HOSTILE).page())
    seen = Visit(browser, file, viewport={"width": width, "height": 800})
    for fold in seen.page.locator(".fold > details > summary").all():
        fold.click()
    labels = seen.page.evaluate(
        """() => [...document.querySelectorAll(".sheet tbody td:not(.drawn, .blank)")]
        .map((cell) => getComputedStyle(cell, "::before").content)"""
    )
    assert {one == "none" for one in labels} == {width > 860}
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.evaluate("window.hit") is None
    sortable = seen.page.locator("table.sortable thead th").count()
    assert seen.page.locator("table.sortable thead button").count() == sortable
    assert (sortable > 0) == (made is scanned)
    seen.check_quiet()
    seen.page.close()
