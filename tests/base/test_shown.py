"""What objects show of themselves: escaped, small, without anything from elsewhere, and in the same words as text."""

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.shown import Shown, SignedBar

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">&lt;b&gt; \x1b[31m \ud800'


class Tags(HTMLParser):
    """Tags and attributes of a piece of HTML."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.seen |= {tag, *(name for name, _ in attrs)}
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in ("rect", "path", "circle", "br") and tag != self.open[-1]:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.seen |= {tag, *(name for name, _ in attrs)}

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def parsed(text):
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    return tags


def filled(text, times=1):
    bars = tuple(SignedBar(text, value, text) for value in (-0.2, 0.1, 0.0)) * times
    return Shown(text, (text,), (text,) * times, bars, ((text, text),) * times)


@settings(max_examples=100)
@given(st.text() | st.just(HOSTILE))
def test_no_text_of_a_user_becomes_part_of_the_page(text):
    seen = parsed(filled(text).html()).seen
    assert seen == parsed(filled("plain").html()).seen
    filled(text).html().encode()
    assert "\x1b" not in filled(text).text()


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=9), min_size=1, max_size=30))
def test_a_notebook_and_a_terminal_say_the_same_words(words):
    sentence = " ".join(words)
    shown = Shown("Run", (sentence,), (sentence,), (SignedBar(sentence, 1.0, sentence),), (("rows", sentence),))
    in_text = " ".join(shown.text().replace("ALARM", "Alarm.").split())
    in_html = " ".join(" ".join(parsed(shown.html()).text).split())
    assert in_text.count(sentence) == in_html.count(sentence) >= 5


def test_nothing_is_large_or_comes_from_elsewhere():
    shown = filled(HOSTILE * 2_000, times=500)
    small = filled("x" * 100_000, times=4).html()
    assert len(small) < 100_000
    assert not re.search(r"https?:|url\(|@import|<link|<script", shown.html())
