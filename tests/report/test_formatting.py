"""Laws of numbers and texts on the page."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.report import formatting

ANY = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just(math.nan))
FORMS = (
    *(formatting.points, formatting.size, formatting.percent, formatting.metric, formatting.count),
    *(formatting.p_value, formatting.seconds, formatting.brief),
)


@pytest.mark.parametrize("form", FORMS)
@given(value=st.one_of(st.none(), st.floats(-1e99, 1e99), st.sampled_from([math.nan, math.inf, -math.inf])))
def test_no_number_reads_none_or_nan(form, value):
    text = form(value)
    assert text
    assert not any(word in text.lower() for word in ("none", "nan", "inf"))


@given(value=st.floats(-1, 1))
def test_points_keep_sign_and_value(value):
    text = formatting.points(value).replace(formatting.MINUS, "-")
    assert float(text) == pytest.approx(100 * value, abs=0.051)
    assert text.startswith(("+", "-")) == (float(text) != 0)


@given(value=st.recursive(ANY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)))
def test_settings_of_any_kind_have_words(value):
    text = formatting.setting(value)
    assert isinstance(text, str)
    if not isinstance(value, str):
        text.encode()


@settings(max_examples=100)
@given(text=st.text(st.characters(), max_size=200))
def test_cleaned_text_can_be_written_and_parsed(text):
    cleaned = formatting.clean(text)
    assert len(cleaned) == len(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert formatting.clean(cleaned) == cleaned


@given(text=st.text(max_size=300), length=st.integers(1, 50))
def test_short_texts_stay_and_long_ones_tell_their_length(text, length):
    cut = formatting.short(text, length)
    if len(text) <= length:
        assert cut == formatting.clean(text)
    else:
        assert cut.startswith(formatting.clean(text[:length]))
        assert f"{len(text):,} characters" in cut


@pytest.mark.parametrize("interval", [None, [], [0.1], [None, 0.2], [math.nan, 1], "ab"])
def test_an_undefined_interval_is_empty(interval):
    assert formatting.bounds(interval) == ""


@given(values=st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_long_lists_are_cut_and_tell_their_length(values):
    text = formatting.setting(values)
    if len(values) <= formatting.MAX_LISTED:
        assert text == ", ".join(map(str, values))
    else:
        assert text.endswith(f"… ({len(values)} in all)")


def test_lone_surrogates_and_nul_become_the_replacement_character():
    assert formatting.clean("a\ud800b\x00c\n") == "a\ufffdb\ufffdc\n"
