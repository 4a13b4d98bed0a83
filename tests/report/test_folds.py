"""The first screen and the folds in a real browser: by press, key, link, screen reader, phone, paper and at night."""

import pytest

from .made_alone import with_alone
from .visits import BROWSED, Visit

pytestmark = BROWSED


def test_a_phone_shows_the_three_lines_and_the_curves_first(visit):
    seen = visit(viewport={"width": 390, "height": 844})
    box = seen.page.locator("#answer .curves >> visible=true").bounding_box()
    assert box["y"] + box["height"] <= 844
    assert seen.page.locator("#answer .forest .along").first.is_hidden()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_press_on_a_row_or_its_summary_opens_it_and_a_second_closes_it(visit, width):
    seen = visit(viewport={"width": width, "height": 844})
    inside = seen.page.locator("#finding-1 + tr .facts")
    for press in (seen.page.locator("#finding-1 td.happened"), seen.page.locator("#finding-1 + tr summary")):
        assert inside.is_hidden()
        press.click()
        assert inside.is_visible()
        press.click()
    assert inside.is_hidden()


def test_the_keyboard_opens_a_row_a_section_and_switches_the_curves(visit):
    seen = visit()
    for place, inside in (
        ("#finding-1 + tr summary", "#finding-1 + tr .facts"),
        ("#making summary >> nth=0", "#making dl >> nth=0"),
    ):
        seen.page.locator(place).focus()
        seen.page.keyboard.press("Enter")
        assert seen.page.locator(inside).is_visible()
    seen.page.locator("#state-raw").focus()
    assert seen.page.locator("#answer svg.state-raw").is_visible()
    seen.page.keyboard.press("ArrowRight")
    assert seen.page.locator("#answer svg.state-raw").is_hidden()
    assert seen.page.locator("#answer svg.state-corrected").is_visible()


def test_a_screen_reader_meets_named_sections_groups_and_choices(visit):
    seen = visit()
    tree = seen.page.locator("body").aria_snapshot()
    for named in (
        'heading "Confidences are off',
        'radiogroup "Probabilities"',
        'radio "as it is" [checked]',
        'radio "corrected"',
        'img "Accuracy against confidence: all rows, subject',
        'rowheader "subject',
        'columnheader "right"',
        'region "All groups"',
        'region "Map"',
    ):
        assert named.lower() in tree.lower(), named


@pytest.mark.parametrize("place", ["finding-1", "atlas", "columns", "class-1", "no-such-place"])
def test_a_link_from_outside_opens_what_it_leads_to(browser, drawn, place):
    seen = Visit(browser, drawn())
    seen.page.goto("about:blank")
    seen.page.goto(f"{seen.address}#{place}")
    if place == "finding-1":
        assert seen.page.locator("#finding-1 + tr .facts").is_visible()
        # it scrolls smoothly
        seen.wait("document.getElementById('finding-1').getBoundingClientRect().y < 300")
    elif seen.page.locator(f"#{place}").count():
        assert seen.page.locator(f"#{place} > details > div").is_visible()
    assert seen.errors == []
    seen.page.close()


def test_the_map_of_a_closed_section_is_drawn_once_it_is_opened(visit):
    seen = visit()
    seen.open("atlas")
    seen.wait(
        """() => [...document.querySelectorAll("[data-pane] .points")].every((each) => {
        const wide = each.getBoundingClientRect().width;
        return wide > 200 && Math.abs(each.width - wide) < 2; })"""
    )
    assert sum(seen.colours_drawn()) > 0


def opened(page):
    return page.evaluate("document.querySelectorAll('details[open]').length")


def test_print_opens_everything_and_closes_it_again(visit):
    seen = visit(edit=with_alone())
    before = opened(seen.page)
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened(seen.page) == seen.page.locator("details").count() > before
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened(seen.page) == before


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_holds_every_section_and_nothing_is_wider_than_it(browser, drawn, scripts):
    # A4 without its margins, at 96 dots per inch
    context = browser.new_context(java_script_enabled=scripts, viewport={"width": 680, "height": 1001})
    page = context.new_page()
    page.goto(drawn(1500, edit=with_alone()).as_uri())
    page.emulate_media(media="print")
    if scripts:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for place in ("#answer h1", "#finding-1 + tr .facts", "#verdict .tiles", "#corrections table >> nth=0"):
        assert page.locator(place).is_visible(), place
    assert page.locator("#making dl").first.is_visible()
    assert page.locator(".doors").is_hidden()
    if scripts:
        ends = "[...document.querySelectorAll('main table, main p')].map(each => each.getBoundingClientRect().right)"
        assert max(page.evaluate(ends)) <= 681
    context.close()


def test_the_dark_page_has_light_letters_on_dark_paper(visit):
    seen = visit(color_scheme="dark")
    light = """place => {
        const style = getComputedStyle(document.querySelector(place));
        const own = (text) => text.match(/[0-9.]+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0) / 3;
        return [own(style.color), own(getComputedStyle(document.body).backgroundColor)]; }"""
    for place in ("#answer h1", ".fold h2", ".forest td.happened", ".forest .number.aside"):
        letters, paper = seen.page.evaluate(light, place)
        assert letters > paper + 80, place
