"""The pages of a study in a real browser: quiet, no wider than the screen, sortable."""

import pytest

from ..report.visits import BROWSED, browser  # noqa: F401 - a fixture
from .made_tables import HOSTILE, other_pairs, papers_pairs, tables

pytestmark = BROWSED


@pytest.fixture
def visit(browser):  # noqa: F811 - a fixture
    visits = []

    def start(path, width=1280):
        page = browser.new_page(viewport={"width": width, "height": 844})
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        visits.append((page, path, said, asked))
        return page

    yield start
    for page, path, said, asked in visits:
        assert said == []
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        page.close()


def test_nothing_is_wider_than_the_screen(visit, make_pages):
    hostile = [{**pair, "model": f"{i}{HOSTILE}", "dataset": HOSTILE} for i, pair in enumerate(other_pairs(3))]
    many = [{**pair, "model": f"vendor/model-{i}-instruct", "dataset": "one"} for i, pair in enumerate(other_pairs(48))]
    for name, pairs in (("plain", papers_pairs(8)), ("hostile", hostile), ("none", []), ("many", many)):
        out = make_pages(tables(pairs, failed=min(1, len(pairs))), name)
        for path in (out / "index.html", out / "paper.html"):
            page = visit(path)
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 844})
                assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("window.hit") is None


def test_nothing_is_wider_than_the_paper(visit, make_pages):
    out = make_pages(tables(papers_pairs(8)))
    # A4 without its margins, at 96 dots per inch
    for path in (out / "index.html", out / "paper.html"):
        page = visit(path, 680)
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth") <= 680


def test_the_table_of_pairs_sorts_and_keeps_what_is_undefined_last(visit, make_pages):
    made = tables(papers_pairs(20), seed=1)
    page = visit(make_pages(made) / "paper.html")
    gaps = made["pairs"].filter(geometry="learned")["gap"]
    assert gaps.null_count()
    known = sorted(gaps.drop_nulls())
    head = page.locator("#pairs").get_by_role("button", name="Gap", exact=True)
    read = "[...document.querySelectorAll('#pairs tbody tr')].map(r => r.cells[10].dataset.key ?? null)"
    for expected in (known, known[::-1]):
        head.click()
        shown = page.evaluate(read)
        assert [float(key) for key in shown if key is not None] == expected
        assert shown[len(known) :] == [None] * gaps.null_count()
    assert page.locator("#pairs th[aria-sort=descending]").count() == 1
    page.locator("#pairs").get_by_role("button", name="Model", exact=True).click()
    models = page.locator("#pairs tbody th").all_inner_texts()
    assert models == sorted(models)
