"""Words that are said of answers alone: nothing that is told of an event may have one."""

import html
import re

OF_ANSWERS = re.compile(
    r"\b(answers?|right|wrong\w*|accura\w*|confiden\w*|over-confiden\w*|under-confiden\w*|(in)?correct|sure|unsure"
    r"|surest)\b",
    re.IGNORECASE,
)
ALLOWED = re.compile(
    r"confidence limit|confidence interval|lower confidence"
    r"|(to the|at the|on the|lies|and) right\b|\(right\)|right (one|of)\b",
    re.IGNORECASE,
)


def told(page):
    """Return what a person reads of a page, tooltips and what programs draw with included."""
    page = re.sub(r"<style.*?</style>|<script(?! type=.application/json).*?</script>", " ", page, flags=re.DOTALL)
    attributes = " ".join(re.findall(r'(?:title|aria-label|data-label|placeholder|alt)="([^"]*)"', page))
    return html.unescape(re.sub(r"<[^>]+>", " ", page) + attributes)


def words_of_answers(text):
    """List where a text speaks of answers, with what stands around."""
    text = ALLOWED.sub("", re.sub(r"\s+", " ", text))
    # keys of the data that the page's program draws
    text = re.sub(r'"\w+":', "", text)
    return [text[max(0, found.start() - 40) : found.end() + 40] for found in OF_ANSWERS.finditer(text)]
