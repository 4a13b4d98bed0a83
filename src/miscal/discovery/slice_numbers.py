"""Numbers of some rows that documents store: how a correction does on them, and their reliability curve."""

from pydantic import ConfigDict, FiniteFloat, NonNegativeInt

from miscal.base.document import Number, Part


class Score(Part):
    """How one correction does on one slice of the test rows; metrics registered beyond these three are numbers too."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number]

    smece: Number
    brier: Number
    log_loss: Number
    n: NonNegativeInt


class CurveNumbers(Part):
    """A reliability curve with its 95 % band, one entry per bin."""

    confidence: tuple[FiniteFloat, ...]
    accuracy: tuple[FiniteFloat, ...]
    low: tuple[FiniteFloat, ...]
    high: tuple[FiniteFloat, ...]
    n: tuple[NonNegativeInt, ...]


class CurvePair(Part):
    """Reliability before and after the correction."""

    raw: CurveNumbers | None
    corrected: CurveNumbers | None
