"""Visits of a page with a real browser, which keep all that the page did."""

import os
import shutil

import pytest

CHROMIUM = os.environ.get("MISCAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
HOSTILE = "</script><img src=x onerror=\"alert(1);window.hit=1\"><svg onload='window.hit=1'>{{1}}"
WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""

BROWSED = [
    pytest.mark.whole,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install it or set MISCAL_CHROMIUM"),
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Visit:
    """A page that keeps all it did: dialogs, errors, requests, violations of its policy."""

    def __init__(self, browser, file, **options):
        self.address = file.as_uri()
        self.page = browser.new_page(**options)
        self.dialogs, self.errors, self.requests = [], [], []
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        # Reading a canvas back, as the tests below do, makes the browser advise; that is not the page's doing.
        self.page.on("console", lambda said: "willReadFrequently" in said.text or self.errors.append(said.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_default_timeout(8000)
        self.page.add_init_script(WATCH)
        self.page.goto(self.address)

    def wait(self, condition, value=None):
        """Wait until a condition holds; asked from here, since the page's policy lets nothing in it be evaluated."""
        for _ in range(100):
            if self.page.evaluate(condition, value):
                return
            self.page.wait_for_timeout(80)
        raise AssertionError(f"still not so: {condition}")

    def check_quiet(self):
        assert self.dialogs == []
        assert self.errors == []
        assert [url for url in self.requests if not url.startswith("data:")] == [self.address]
        assert self.page.evaluate("window.violations") == []

    def open(self, section):
        """Open a section by a press on its line, as a reader does."""
        fold = self.page.locator(f"#{section} > details")
        if fold.get_attribute("open") is None:
            fold.locator(":scope > summary").click()

    def plane(self, name="learned"):
        self.open("atlas")
        canvas = self.page.locator(f"[data-pane={name}] .overlay")
        canvas.scroll_into_view_if_needed()
        return canvas.bounding_box()

    def point_at_a_row(self):
        """Move to where the row nearest the middle of the learned pane is drawn, and give back its index."""
        box = self.plane()
        data = self.data()
        places = [(i, x / 4095, 1 - y / 4095) for i, (x, y) in enumerate(zip(data["x"], data["y"], strict=True))]
        i, x, y = min(places, key=lambda place: (place[1] - 0.5) ** 2 + (place[2] - 0.5) ** 2)
        self.page.mouse.move(box["x"] + 10 + x * (box["width"] - 20), box["y"] + 10 + y * (box["height"] - 20))
        return i

    def data(self):
        return self.page.evaluate(
            "() => { const m = JSON.parse(document.getElementById('map-data').textContent);"
            "return {...m.panes[0], text: m.text, row: m.row, n: m.n}; }"
        )

    def colours_drawn(self, pane="learned"):
        return self.page.evaluate(
            """(name) => {
            const canvas = document.querySelector(`[data-pane=${name}] .points`);
            const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let sums = [0, 0, 0, 0];
            for (let i = 0; i < all.length; i += 4) for (let k = 0; k < 4; k += 1) sums[k] += all[i + k];
            return sums; }""",
            pane,
        )


@pytest.fixture(scope="module")
def drawn(make_module_run):
    """Draw pages, those of the same run once: a visit changes no file."""
    known = {}

    def draw(n=400, *, kind="full", payload="", edit=None):
        from miscal.report.page import render

        asked = n, kind, payload, edit
        if asked not in known:
            known[asked] = render(make_module_run(n, kind=kind, payload=payload, edit=edit))
        return known[asked]

    return draw


@pytest.fixture
def visit(browser, drawn):
    visits = []

    def start(*, n=400, kind="full", payload="", edit=None, **options):
        visits.append(Visit(browser, drawn(n, kind=kind, payload=payload, edit=edit), **options))
        return visits[-1]

    yield start
    for each in visits:
        each.check_quiet()
        each.page.close()
