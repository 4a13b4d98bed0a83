"""The page of a comparison as text: what it says of both kinds of pairs."""

import re

import pytest

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.calibration.metrics.inference import ErrorEstimate
from miscal.discovery.summary import Global
from miscal.evidence.certificates import Certificate
from miscal.runs.compare.comparison import RunComparison
from miscal.runs.compare.document import (
    CurveSides,
    FieldAgreement,
    GroupPair,
    GroupSide,
    MeasurePair,
    RunNumbers,
)

from ...report.read_page import Page

MEASURES = (
    "calibration_error",
    "residual",
    "smece",
    "accuracy",
    "confidence",
    "brier",
    "log_loss",
    "corrected_log_loss",
)
CURVE = {"confidence": [0.4, 0.8], "accuracy": [0.3, 0.6], "low": [0.2, 0.5], "high": [0.4, 0.7], "n": [50, 70]}


def measure(value):
    return Measure(value=value, interval=(value - 0.05, value + 0.05))


def with_p(value):
    return MeasureAgainstNull(**dict(measure(value)), p_value=0.01)


def side(n=120):
    return GroupSide(n=n, accuracy=0.4, confidence=0.7, residual=measure(-0.3), hidden=measure(-0.1))


def group(name, *, b=True, **more):
    return GroupPair(
        description=f"subject = {name}",
        condition={"kind": "value", "column": "subject", "value": name, "of": "text"},
        columns=(name,),
        share=0.1,
        a=side(),
        b=side(90) if b else None,
        residual=with_p(0.1) if b else None,
        hidden=with_p(0.2) if b else None,
        p_adjusted=0.001 if b else None,
        aliases=(f"also {name}",),
        **more,
    )


def run_of(name):
    known = {one: measure(0.5) for one in Global.model_fields if one != "smece"}
    return RunNumbers(
        name=name,
        path=name,
        data=f"data/{name}",
        where=f"model == '{name}'",
        method="auto",
        evidence="all",
        n=120,
        global_=Global(**known, smece=ErrorEstimate(value=0.1, interval=(0.0, 0.2))),
        certificate=Certificate(
            lower_bound_total=measure(0.2),
            lower_bound_hidden=measure(0.1),
            p_value=0.01,
            p_field=0.01,
            p_structure=None,
            p_value_total=0.01,
        ),
        findings=2,
    )


def comparison(text="x", *, same_rows=True, empty=False):
    """Return a comparison with `text` wherever text can be."""
    a, b = f"a{text}", f"b{text}"
    measures = {name: MeasurePair(a=measure(0.1), b=measure(0.2), difference=with_p(-0.1)) for name in MEASURES}
    measures["calibration_error"] = measures["calibration_error"].model_copy(update={"better": "a"})
    smece = MeasureAgainstNull(value=-0.1)
    measures["smece"] = measures["smece"].model_copy(update={"difference": smece})
    curve = None if empty else CurveNumbers(**CURVE)
    found = () if empty else (group(text), group(f"{text} alone", b=same_rows))
    return RunComparison(
        seed=0,
        level=0.05,
        runs=(run_of(a), run_of(b)),
        a=a,
        b=b,
        same_rows=same_rows,
        matched_by=text,
        same_answers=False,
        n_a=120,
        n_b=120 if same_rows else 90,
        left_out_a=3,
        left_out_b=4,
        measures=measures,
        curves=CurveSides(a=curve, b=curve),
        fields=FieldAgreement(delta=measure(0.4), hidden=Measure(value=None)) if same_rows else None,
        candidates=0 if empty else 17,
        differences=found,
        groups=tuple(one.model_copy(update={"both": "over", "found_in": ("a", "b")}) for one in found),
        not_found=(text,),
        notes=(f"note {text}",),
        versions={"miscal": text, "numpy": "2"},
    )


@pytest.mark.parametrize("same_rows", [True, False])
def test_the_page_says_the_answer_first_and_then_everything_else(same_rows):
    compared = comparison("law", same_rows=same_rows)
    said = Page(compared.shown().page()).visible
    places = [said.index(one) for one in (compared.answer.headline, "Where they differ", "Calibration error")]
    assert places == sorted(places)
    assert ("All 120 rows that both runs have are compared" in said) == same_rows
    assert ("Correlation of the fields" in said) == same_rows
    assert ("no rows" in said) == (not same_rows)


def test_an_undefined_number_is_a_dash():
    nothing = MeasurePair(a=Measure(value=None), b=Measure(value=None), difference=MeasureAgainstNull(value=None))
    one = comparison(empty=True).model_copy(update={"measures": dict.fromkeys(MEASURES, nothing)})
    said = Page(one.shown().page()).visible
    assert "There are too few rows for a curve." in said
    assert not re.search(r"\b(None|nan|NaN)\b", said)


def test_the_written_document_is_the_one_that_is_drawn(tmp_path):
    one = comparison("law")
    assert one.save(tmp_path / "out") == tmp_path / "out"
    assert RunComparison.model_validate_json((tmp_path / "out" / "compare.json").read_text()) == one
    assert (tmp_path / "out" / "compare.html").read_text() == one.shown().page()
