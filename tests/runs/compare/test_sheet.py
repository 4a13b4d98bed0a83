"""The page and the three lines of a comparison: of its own numbers, and never against them."""

import re
from itertools import product

import pytest

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import KINDS
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.discovery.summary import ErrorEstimate, Global
from miscal.evidence.certificates import Certificate
from miscal.runs.compare.comparison import RunComparison
from miscal.runs.compare.document import CurveSides, FieldAgreement, GroupPair, GroupSide, MeasurePair, RunNumbers

from ...report.read_page import Page, check_lines, check_terminal

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
    assert ("120 (law); 3 and 4 have no match" in said) == same_rows
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


GROUPS = ("none", "untested", "a closer", "b closer", "one side", "both fail")
BETTER = ("a", "b", None, "unknown", "same")
SIDES = ("a", "b", None)


def apart(better, low, high, *, known=True):
    """A measure of two runs, of which the one with less is better."""
    if not known:
        return MeasurePair(a=Measure(value=None), b=Measure(value=None), difference=MeasureAgainstNull(value=None))
    low, high = (low, high) if better != "b" else (high, low)
    between = MeasureAgainstNull(value=low - high, interval=(low - high - 0.001, low - high + 0.001), p_value=0.01)
    return MeasurePair(a=measure(low), b=measure(high), difference=between, better=better)


def state(
    better="a", found="none", *, ahead=None, right=None, same_rows=True, kind="answer", name="law", names=("a", "b")
):
    """Two runs in one of the states of a comparison."""
    one = comparison(name, same_rows=same_rows, empty=found in ("none", "untested"))
    groups = ()
    if found in ("a closer", "b closer"):
        near, far = (measure(-0.02), measure(-0.3)) if found == "a closer" else (measure(-0.3), measure(-0.02))
        first = group(name)
        sides = {
            side: getattr(first, side).model_copy(update={"residual": of}) for side, of in (("a", near), ("b", far))
        }
        groups = (first.model_copy(update=sides),)
    elif found == "one side":
        groups = (group(name, b=False),)
    both = (group(name, both="over"),) if found == "both fail" else ()
    changed = {"a": names[0], "b": names[1], "differences": groups, "groups": both, "same_answers": better == "same"}
    changed |= {"candidates": 0 if found == "untested" else 17}
    sided = better if better in ("a", "b") else None
    measures = {
        "calibration_error": apart(sided, 0.0016, 0.01, known=better != "unknown"),
        "corrected_log_loss": apart(ahead, 0.26, 0.49),
        # of accuracy more is better
        "accuracy": apart({"a": "b", "b": "a"}.get(right), 0.66, 0.87).model_copy(update={"better": right}),
    }
    changed |= {"measures": one.measures | measures}
    return one.model_copy(update=changed | {"kind": kind, "runs": tuple(run_of(name) for name in names)})


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_short_and_of_one_mind_in_every_state(kind):
    many = ("a run", "one of a very long name"), ("x" * 90, "y" * 90), ("a", "b")
    for better, found, ahead, same, names in product(BETTER, GROUPS, SIDES, (True, False), many):
        document = state(better, found, ahead=ahead, right="a", same_rows=same, kind=kind, names=names)
        lines = document.answer
        check_lines(lines)
        known = better not in ("unknown", "same")
        assert ("is better calibrated:" in lines.headline) == (better in ("a", "b") and kind != "answer")
        assert ("right more often" in lines.headline) == (known and kind == "answer")
        assert lines.action.startswith("Take") == bool(ahead and same and known)
        if lines.action.startswith("Take"):
            assert lines.action.startswith(f"Take {names[ahead == 'b'][:5]}")
            assert ("though" in lines.action) == (better == {"a": "b", "b": "a"}[ahead])
        # a run that is not the one to take may be closer in a group
        closer = found in ("a closer", "b closer") and found[0] != ahead
        assert ("is closer, " in lines.action) == (closer and same and known)
        assert ("is ahead by" in lines.reason) == bool(ahead)
        check_terminal(document.shown().lines([("page", "out/compare.html")]))


def test_a_run_is_worse_on_all_rows_or_in_a_group():
    assert state("a").worse == ("all rows",)
    assert state(None, "a closer").worse == ("subject = law",)
    assert state("a", "a closer").worse == ("all rows", "subject = law")
    for better, found in (("b", "none"), ("b", "a closer"), (None, "b closer"), (None, "one side"), ("same", "none")):
        assert state(better, found).worse == (), (better, found)


def test_a_group_that_is_farther_off_by_chance_is_not_worse():
    one = state(None, "a closer")
    [group] = one.differences
    by_chance = group.model_copy(update={"residual": group.residual.model_copy(update={"p_value": 0.4})})
    assert one.worse
    assert not one.model_copy(update={"differences": (by_chance,)}).worse


def test_exchanging_the_runs_exchanges_the_names():
    one = state("a", "b closer", ahead="a", right="b").answer
    other = state("b", "a closer", ahead="b", right="a").answer
    swap = {"a": "b", "b": "a"}
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.headline) == other.headline
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.action) == other.action
