"""Numbers in sentences."""

from hypothesis import given
from hypothesis import strategies as st

from miscal.base.number_wording import decimal, duration


@given(st.floats(-1e9, 1e9, allow_subnormal=False), st.integers(0, 4))
def test_only_zero_is_written_as_zero(value, places):
    written = decimal(value, places)
    assert (float(written.replace(",", "")) == 0) == (value == 0)


@given(st.floats(0, 1e9, allow_subnormal=False))
def test_a_duration_is_written_to_a_tenth_of_itself(seconds):
    number, unit = duration(seconds).split(" ")
    read = float(number.replace(",", "")) * {"s": 1, "min": 60, "h": 3600}[unit]
    assert abs(read - seconds) <= 0.06 * seconds
