"""A page as a browser reads it, and texts that would be markup if they were not escaped."""

import re
from html.parser import HTMLParser

from miscal.report.frame import digest
from miscal.report.page import render

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


def section_of(text, name):
    """A section of a page, whole."""
    found = re.search(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    assert found, name
    return found.group()


def first_words(text):
    """Words that a reader meets before anything is opened or pressed, labels of axes among them."""
    for hidden, shown in (
        (r"<head>.*?</head>|<script.*?</script>|<footer.*?</footer>", ""),
        (r'<svg class="curves state-corrected".*?</svg>', ""),
        (r'<span class="visually-hidden">.*?</span>|<a class="skip".*?</a>|<div id="tip".*?</div>', ""),
        # the innermost first, until none is left
        (r"<details[^>]*>\s*<summary((?:(?!</summary).)*)</summary>(?:(?!</?details).)*</details>", r"<p\1</p>"),
    ):
        found = 1
        while found:
            text, found = re.subn(hidden, shown, text, flags=re.DOTALL)
    return [word for word in Page(text).visible.split() if re.search(r"\w", word)]


def written(run):
    """The page of a run folder, drawn now."""
    return render(run).read_text(encoding="utf-8")


def page_of(run):
    return Page(written(run))


def check_no_new_element(page, plain):
    """A page that shows a payload has the elements of a plain one, no handlers, and links to itself alone."""
    assert page.tags == plain.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("style", "srcdoc")]
    links = {value for _, name, value in page.attributes if name in ("href", "src", "action")}
    assert all(link.startswith("#") or link == "data:," for link in links)


def check_policy(text):
    """The policy of a page names its style and its program by their hashes, and nothing else that may run."""
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1].replace("&#39;", "'")
    style = re.search(r"<style>(.*)</style>", text, flags=re.DOTALL)[1]
    (program,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert policy.startswith("default-src 'none';")
    assert f"style-src '{digest(style)}'" in policy
    assert f"script-src '{digest(program)}'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert [tag for tag in re.findall(r"<script[^>]*>", text) if "application/json" not in tag] == ["<script>"]


def check_lines(answer):
    """Three lines are short, and made of words."""
    for line, most in ((answer.headline, 20), (answer.reason, 28), (answer.action, 28)):
        assert sum(bool(re.search(r"\w", word)) for word in line.split()) <= most, line
        assert line[-1] in ".?", line
        assert not re.search(r"\b(None|nan|inf|undefined)\b|[{}]|  |\.\.", line), line


def check_terminal(lines):
    """What a command prints is at most thirty lines of at most a hundred columns, but for paths."""
    assert len(lines) <= 30
    assert all(len(line) <= 100 for line in lines if not line.startswith(("page", "table", "next", "written to")))
