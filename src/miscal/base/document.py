"""The parts that typed documents are made of: frozen values with checked numbers, and measured numbers.

A room that computes what a document stores makes a :class:`Part` of it, and the document holds it as it is.
"""

import json
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from miscal.base.json_values import clean_text

Number = FiniteFloat | None
Interval = tuple[Number, Number] | None
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Probability = Share | None
Text = Annotated[str, BeforeValidator(lambda value: clean_text(value) if isinstance(value, str) else value)]
"""A text that comes from the data."""


class Part(BaseModel):
    """A part of a document: frozen, and without keys that it does not name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Document(Part):
    """A document that is written as a file of its own."""

    def to_json(self) -> str:
        """Return the document as JSON text, the same bytes for the same content.

        Returns
        -------
        str
            Indented JSON, ASCII only, ending in a newline, without NaN or infinity.
        """
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=1, allow_nan=False) + "\n"


class Measure(Part):
    """A measured number and its 95 % interval; both null where undefined."""

    value: Number
    interval: Interval = None


class MeasureAgainstNull(Measure):
    """A measured number, its interval and the p-value of its null."""

    p_value: Probability = None
