"""Parts of documents hold finite numbers, the keys that they name, and text that UTF-8 can hold."""

import math

import pydantic
import pytest

from miscal.base.document import Document, Measure, MeasureAgainstNull, Text


class Noted(Document):
    text: Text
    size: Measure


def test_what_is_measured_is_finite_or_undefined():
    for bad in (math.nan, math.inf, -math.inf):
        for values in ({"value": bad}, {"value": 0.0, "interval": (0.0, bad)}):
            with pytest.raises(pydantic.ValidationError):
                Measure(**values)
    with pytest.raises(pydantic.ValidationError):
        MeasureAgainstNull(value=0.0, p_value=1.5)
    assert Measure(value=None).interval is None


def test_a_part_is_frozen_and_names_its_keys():
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        Measure(value=0.0).value = 1.0
    with pytest.raises(pydantic.ValidationError, match="Extra inputs"):
        Measure(value=0.0, median=1.0)


def test_a_text_is_stored_as_utf8_can_hold_it():
    noted = Noted(text="caf\udce9", size=Measure(value=1.0))
    assert noted.text == "caf\ufffd"
    assert Noted.model_validate_json(noted.to_json()) == noted
    with pytest.raises(pydantic.ValidationError):
        Noted(text=1, size=Measure(value=1.0))
