"""What a miscalibration field shows of itself in a notebook."""

from __future__ import annotations

from typing import Any

from miscal.base.shown import Shown

_MAPS = {
    "identity": "none: confidences are taken as they are",
    "temperature": "temperature scaling",
    "platt": "Platt scaling",
    "beta": "beta calibration",
    "isotonic": "isotonic regression",
}


def shown_field(field: Any) -> Shown:
    """Return the parameters of a `MiscalibrationField` and, where it is fitted, what it learned.

    Examples
    --------
    >>> from miscal.estimators.field import MiscalibrationField
    >>> print(shown_field(MiscalibrationField()).text())
    MiscalibrationField()
    <BLANKLINE>
    Not fitted yet: fit(X, y, confidence=f) learns where confidences are too high and too low.
    """
    title = " ".join(repr(field).split())
    if not hasattr(field, "fitted_"):
        todo = "Not fitted yet: fit(X, y, confidence=f) learns where confidences are too high and too low."
        return Shown(title, sentences=(todo,))
    local = "Confidences are corrected by where an input lies, as well as by themselves."
    none = "No local structure was found beyond noise, so only the global map corrects confidences."
    return Shown(
        title,
        sentences=(local if field.structure_ else none,),
        facts=(*_facts(field),),
    )


def _facts(field: Any) -> list[tuple[str, str]]:
    names = getattr(field, "feature_names_in_", ())
    named = f": {', '.join(map(str, names))}" if len(names) else ""
    return [
        ("inputs", f"{field.n_features_in_:,} columns{named}"),
        ("global map", _MAPS.get(field.global_map_.name, field.global_map_.name)),
        ("candidates", f"{len(field.selection_):,} compared, see selection_"),
    ]
