"""The page in a real browser: it works by press, key, link, on a phone, on paper; it runs its own program alone."""

import pytest

from .made_world import with_alone
from .visits import BROWSED, HOSTILE, Visit

pytestmark = BROWSED


def test_hover_shows_the_text(visit):
    seen = visit()
    i = seen.point_at_a_row()
    data = seen.data()
    tip = seen.page.locator("#tip")
    assert tip.is_visible()
    assert data["text"][i] in tip.inner_text()
    assert f"Row {data['row'][i]:,}" in tip.inner_text()
    seen.page.mouse.move(2, 2)
    assert not tip.is_visible()


def test_every_colouring_draws_and_names_itself(visit):
    seen = visit()
    seen.open("atlas")
    choice = seen.page.locator("#colour")
    names = choice.locator("option").all_inner_texts()
    assert {"Regime", "Confidence", "topic", "length"} <= set(names)
    # what no diagram shows comes first, and what a person may doubt of it follows
    assert names[:3] == ["Hidden field", "Field (visible + hidden)", "Visible field"]
    assert {"Regime by what is hidden", "Outcome"} <= set(names)
    drawn = {}
    for name in names:
        choice.select_option(label=name)
        drawn[name] = tuple(seen.colours_drawn())
        assert seen.page.locator("#legend").inner_text().strip()
    assert len(set(drawn.values())) == len(names)


def test_the_table_of_a_column_sorts_by_every_heading(visit):
    seen = visit()
    seen.open("columns")
    table = seen.page.locator("#columns table").first
    names = lambda: table.locator("tbody th").all_inner_texts()  # noqa: E731
    drawn = ["<b>law</b>", "history", "art", "knots"]
    assert names() == drawn
    for head, rising in {
        "Value": ["<b>law</b>", "art", "history", "knots"],
        "Rows": ["knots", "history", "<b>law</b>", "art"],
        "Hidden": ["<b>law</b>", "history", "art", "knots"],
        "Mark": drawn,
    }.items():
        button = table.get_by_role("button", name=head, exact=True)
        button.click()
        assert names() == rising
        button.click()
        assert names() == rising[::-1]
        assert seen.page.evaluate("document.activeElement.textContent") == head
    seen.check_quiet()


def test_a_value_leads_to_its_finding(visit):
    seen = visit()
    seen.open("columns")
    seen.page.locator("#columns").get_by_role("link", name="finding 1", exact=True).click()
    assert seen.page.evaluate("document.querySelector(':target').textContent").count("law") >= 1
    assert seen.page.locator("#finding-1 + tr .facts").is_visible()


def test_the_keyboard_alone_reads(visit):
    seen = visit()
    seen.plane()
    seen.page.locator("[data-pane=learned] .overlay").focus()
    seen.page.keyboard.press("ArrowRight")
    first = seen.page.locator("#spoken").text_content()
    changed = "said => !['', said].includes(document.querySelector('#spoken').textContent)"
    for _ in range(3):  # the page may scroll late on a busy machine, which takes the row away
        seen.page.keyboard.press("ArrowRight")
        seen.page.wait_for_timeout(80)
    seen.wait(changed, first)


def test_a_tap_reads_a_row_and_it_stays(visit):
    seen = visit(viewport={"width": 390, "height": 844}, has_touch=True)
    seen.open("atlas")
    box, data = seen.plane(), seen.data()
    x, y = data["x"][0] / 4095, 1 - data["y"][0] / 4095
    seen.page.touchscreen.tap(box["x"] + 10 + x * (box["width"] - 20), box["y"] + 10 + y * (box["height"] - 20))
    assert seen.page.locator("#tip").is_visible()
    assert data["text"][0] in seen.page.locator("#tip").inner_text()


def test_hostile_texts_do_nothing(visit):
    plain, hostile = visit(payload="x"), visit(payload=HOSTILE)
    for seen in (plain, hostile):
        seen.point_at_a_row()
        for label in seen.page.locator("#colour option").all_inner_texts()[:9]:
            seen.page.locator("#colour").select_option(index=0)
            seen.page.locator("#colour").select_option(label=label)
    count = "document.querySelectorAll('*').length"
    assert hostile.page.evaluate(count) == plain.page.evaluate(count)
    assert HOSTILE in hostile.page.locator("#tip").text_content()
    assert hostile.page.evaluate("window.hit") is None


def test_the_policy_stops_what_is_not_ours(browser, drawn):
    """The watch itself works: a foreign script and a request are refused and seen."""
    seen = Visit(browser, drawn(300))
    seen.page.evaluate(
        """() => {
        const script = document.createElement("script");
        script.textContent = "window.hit = 1";
        document.body.append(script);
        const image = document.createElement("img");
        image.src = "http://127.0.0.1:9/x.png";
        document.body.append(image); }"""
    )
    seen.wait("window.violations.length >= 2")
    assert seen.page.evaluate("window.hit") is None
    assert set(seen.page.evaluate("window.violations")) == {"script-src-elem", "img-src"}
    seen.page.close()


@pytest.mark.parametrize("kind", ["full", "empty"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_is_wider_than_the_screen(visit, kind, width):
    seen = visit(kind=kind, viewport={"width": width, "height": 844})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_drawing_stays(browser, drawn):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(drawn().as_uri())
    page.locator("#atlas > details > summary").click()
    assert page.locator(".map-static").is_visible()
    assert page.locator("#map-live").is_hidden()
    context.close()


def test_print_shows_the_drawing_instead_of_the_map(visit):
    seen = visit()
    seen.open("atlas")
    assert seen.page.locator(".map-static").is_hidden()
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".map-static").is_visible()
    assert seen.page.locator("#map-live").is_hidden()
    assert len(seen.page.pdf()) > 10_000


@pytest.mark.parametrize("width", [390, 1280])
def test_a_press_or_a_key_shows_a_point_of_a_curve(visit, width):
    seen = visit(edit=with_alone(), viewport={"width": width, "height": 844})
    seen.open("alone")
    picture, said = seen.page.locator("#alone .risk"), seen.page.locator("#alone output")
    chosen = seen.page.locator("#alone .chosen")
    told = [said.inner_text()]
    # finger and pointer need not meet the point itself
    box = seen.page.locator("#alone .point.raw").nth(10).bounding_box()
    seen.page.mouse.click(box["x"] + box["width"] / 2 - 1, box["y"] + box["height"] / 2 - 6)
    told.append(said.inner_text())
    assert chosen.count() == 1
    picture.press("ArrowRight")
    told.append(said.inner_text())
    assert told[-1] == chosen.locator("title").text_content()
    picture.press("Home")
    told.append(said.inner_text())
    assert len(set(told)) == 4
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


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
