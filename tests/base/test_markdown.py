"""GitHub-flavoured markdown: whatever a text holds, it is shown as that text and does nothing."""

import html
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from miscal.base.shown import escaped, markdown_table
from miscal.discovery.summary import Answer
from miscal.report.sheet import Column, Sheet, Table

GFM = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKUP = st.text(st.sampled_from("a1 \\`*_[]()<>|~&#@+-=.!:/$^{}\n\t\"'"), max_size=30) | st.text(max_size=30)


def visible(rendered: str) -> str:
    return html.unescape(re.sub(r"<!-- -->", "", rendered))


def plain(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


@settings(max_examples=100)
@given(MARKUP)
@example("1. @all, see #3 and https://here.org or www.here.org")
@example("---")
@example("&lt;b&gt;")
def test_a_paragraph_shows_the_text_and_no_markup(text):
    rendered = GFM.render(escaped(text)).strip()
    if not plain(text):
        assert rendered == ""
        return
    inside = re.fullmatch(r"<p>(.*)</p>", rendered, re.DOTALL)
    assert inside is not None, rendered
    without = inside[1].replace("<!-- -->", "")
    assert "<" not in without
    assert visible(without) == plain(text)


@given(st.lists(st.tuples(MARKUP, MARKUP), min_size=1, max_size=3))
def test_a_table_has_its_cells_and_no_more(rows):
    rendered = GFM.render(markdown_table(("a", "b"), rows))
    cells = [visible(one) for one in re.findall(r"<td[^>]*>(.*?)</td>", rendered, re.DOTALL)]
    assert cells == [plain(text) for row in rows for text in row]


def test_mentions_and_references_are_parted():
    assert re.search(r"@\w|#\d|://|www\.", escaped("@all #3 https://a.b www.a.b a@b.c")) is None


@given(MARKUP, MARKUP)
def test_a_sheet_shows_title_alarm_row_and_fact_in_their_places(one, other):
    answer = Answer(headline=f"A {one}", reason=f"S {other}", action="")
    table = Table([Column("group", str), Column("what", str)], [one])
    rendered = GFM.render(Sheet("t", one, answer, tables=[table], facts=[(f"B {one}", other)], alarm=True).markdown())
    assert [len(re.findall(f"<{tag}[ >]", rendered)) for tag in ("h3", "blockquote", "li", "td")] == [1, 1, 1, 2]
