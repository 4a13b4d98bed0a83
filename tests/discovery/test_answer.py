"""The three lines of a run: short, of its numbers alone, and never against each other, in every state of a run."""

import re
from itertools import product

import pytest

from miscal.base.document import Measure
from miscal.base.vocabulary import KINDS, vocabulary
from miscal.data.readers.column_readings import ColumnReading
from miscal.discovery.answer import answer_of, finding_sentence
from miscal.discovery.summary import Summary
from miscal.findings.ledger.document import Finding

from ..report.read_page import check_lines
from .test_summary import content

FINDING = {
    "description": "subject = law",
    "condition": {"kind": "value", "column": "subject", "value": "law", "of": "text"},
    "source": "named",
    "columns": ["subject"],
    "n": 120,
    "share": 0.1,
    "accuracy": 0.3,
    "confidence": 0.7,
    "corrected": 0.4,
    "residual": {"value": -0.4, "interval": [-0.48, -0.32]},
    "visible": -0.15,
    "hidden": {"value": -0.25, "interval": [-0.33, -0.17]},
    "conditional": {"value": -0.26, "interval": [-0.34, -0.18]},
    "odds_ratio": 0.37,
    "p_value": 1e-9,
    "p_adjusted": 1e-6,
    "sign": "over",
}
FINDINGS = {
    "none": [],
    "shift": [FINDING],
    "against the average": [FINDING | {"accuracy": 0.68, "residual": {"value": -0.02}, "visible": 0.23}],
    "worse": [FINDING | {"after": {"value": -0.6, "interval": [-0.7, -0.5]}, "fate": "made worse"}],
    "a long name": [FINDING | {"condition": {**FINDING["condition"], "value": "a very long name of a subject " * 9}}],
}
PROOFS = {
    "nothing": {"p_value": 0.6, "p_field": 0.7, "low": 0.0},
    "somewhere": {"p_value": 0.01, "p_field": 0.3, "low": 0.0},
    "beyond chance": {"p_value": 0.001, "p_field": 0.001, "low": 0.0},
    "a limit": {"p_value": 0.001, "p_field": 0.001, "low": 0.042},
}
GAINS = {"helps": (0.03, 0.01, 0.05), "no gain": (0.0, -0.01, 0.01), "harms": (-0.03, -0.05, -0.01), "unknown": None}
PLAIN = {
    "usual": {},
    "verdicts": {"verdicts": True},
    "turned round": {"ranking": {"value": 0.3, "interval": [0.25, 0.35]}},
    "far": {"far": True},
    "far, of no rank": {"far": True, "ranking": {"value": 0.5, "interval": [0.45, 0.55]}},
    "one value": {"usual_share": 0.96},
    "one answer": {"one_answer": "A", "one_answer_n": 180},
    "no information": {"ranking": {"value": 0.51, "interval": [0.47, 0.55]}},
    "copies": {"copies": 3},
}
LEAK = ColumnReading("refunded", "number", 2, 0, "...", leak=0.99, leak_by="ranking")


BASE = content()
BASE["global"]["confidence"] = {"value": 0.52, "interval": [0.5, 0.54]}


def valid(**changes) -> Summary:
    """The summary of the contract with some of its keys changed."""
    return Summary.model_validate(BASE | changes)


def proven(known) -> dict:
    return BASE["certificate"] | {
        **{key: known[key] for key in ("p_value", "p_field")},
        "lower_bound_hidden": {"value": 0.05, "interval": [known["low"], 1.0]},
        "n": 200,
        "detectable": 0.08,
    }


def gained(saved) -> dict:
    return (
        {}
        if saved is None
        else {"raw": {"brier": {"value": 0}, "log_loss": {"value": saved[0], "interval": saved[1:]}}}
    )


WHOLE = valid(
    findings_method={"candidates": 345, "adjustment": "...", "level": 0.05, "evidence": "all", "n": 200},
)
PARTS = {
    "findings": {name: valid(findings=some).findings for name, some in FINDINGS.items()},
    "certificate": {name: valid(certificate=proven(known)).certificate for name, known in PROOFS.items()},
    "gains": {name: valid(gains=gained(saved)).gains for name, saved in GAINS.items()},
    "plain": {name: valid(plain=BASE["plain"] | some).plain for name, some in PLAIN.items()},
}


def state(kind="answer", found="shift", proof="a limit", gain="helps", plain="usual", leak=False) -> Summary:
    """A summary in one of the states that a run may be in."""
    chosen = dict(zip(PARTS, (found, proof, gain, plain), strict=True))
    parts = {name: PARTS[name][one] for name, one in chosen.items()}
    return WHOLE.model_copy(update={"kind": kind, **parts, "columns": (LEAK,) if leak else ()})


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_short_and_of_one_mind_in_every_state(kind):
    for found, proof, gain, plain, leak in product(FINDINGS, PROOFS, GAINS, PLAIN, (False, True)):
        summary = state(kind, found, proof, gain, plain, leak)
        lines = answer_of(summary)
        at = f"{kind}, {found}, {proof}, {gain}, {plain}, leak {leak}: {lines}"
        check_lines(lines)
        whole = " ".join((lines.headline, lines.reason, lines.action))
        nothing = "No miscalibration was found" in whole or "none differs" in whole
        assert not (nothing and summary.findings), at
        if "at least" in lines.headline:
            assert proof == "a limit", at
            assert "at least 4 points" in lines.headline, at
        if "Use the correction" in lines.action:
            assert gain == "helps", at
        if "Do not use" in lines.action:
            assert gain in ("no gain", "harms"), at
        if "Label more rows if" in lines.action:
            assert not summary.findings, at
            assert proof == "nothing", at
        if found in ("worse",) and "Use the correction" in lines.action:
            assert "but not for subject = law" in lines.action, at


@pytest.mark.parametrize(
    ("changes", "line", "words"),
    [
        ({"plain": "verdicts"}, "headline", "0 or 1 in every row"),
        ({"plain": "turned round"}, "action", "Check that"),
        ({"plain": "far"}, "headline", "The model says 52 % on average and is right 50 % of the time."),
        ({"plain": "one value"}, "headline", "in 96 % of the rows"),
        ({"plain": "one answer"}, "headline", "The model answers A in 180 of 200 rows."),
        ({"plain": "no information"}, "headline", "hardly above"),
        ({"plain": "copies"}, "action", "every row 3 times"),
        ({}, "headline", "off by at least 4 points on average, beyond what a reliability diagram of all rows shows."),
        ({}, "reason", "the model says 70 % and is right 30 % of the time (22 to 38 %, 120 rows)."),
        ({"gain": "harms"}, "action", "Do not use the correction"),
        ({"found": "none", "proof": "nothing", "gain": "no gain"}, "action", "Label more rows if smaller errors"),
        ({"kind": "judge"}, "reason", "On rows with subject = law the judge says 70 %, and people approve 30 %"),
    ],
)  # fmt: skip
def test_each_state_is_said_first_where_it_stands_above_the_others(changes, line, words):
    assert words in getattr(answer_of(state(**changes)), line)


def test_the_group_that_is_off_most_is_named_before_what_is_hidden_and_never_beside_nothing_found():
    """But for what stands above everything that is hidden."""
    most = PARTS["findings"]["shift"][0]
    for kind, found, proof, gain in product(KINDS, ("none", "shift"), PROOFS, GAINS):
        for leak, method in product((False, True), ("auto", "shifts")):
            summary = state(kind, found, proof, gain, leak=leak)
            without = answer_of(summary)
            lines = answer_of(summary.model_copy(update={"most_off": most, "method": method}))
            check_lines(lines)
            assert all(said in lines.headline for said in ("subject = law", "70 %", "30 %")), lines
            assert not re.search("No miscalibration|No group|nothing else", lines.reason), lines
            assert "off by at least" not in without.headline or lines.reason == without.headline
    plain = answer_of(state(plain="far"))
    assert answer_of(state(plain="far").model_copy(update={"most_off": most})).headline == plain.headline


def test_without_a_field_nothing_is_said_of_places_without_a_name():
    nothing = state(found="none", proof="nothing", gain="no gain").model_copy(update={"method": "shifts"})
    content = nothing.model_dump(mode="json", by_alias=True)
    content["certificate"]["lower_bound_total"] = {"value": 0.0, "interval": [0.0, 1.0]}
    content["global"]["smece"] |= {"p_value": 0.5}
    nothing = Summary.model_validate(content)
    assert answer_of(nothing).headline == "No group was found in which confidences are off."


def test_a_turned_table_turns_the_sentence():
    """(f, y) -> (1 - f, 1 - y) swaps what is promised and what happened with their complements."""
    one = Finding.model_validate(FINDING)
    other = one.model_copy(
        update={
            "accuracy": 1 - one.accuracy,
            "confidence": 1 - one.confidence,
            "residual": Measure(value=0.4, interval=(0.32, 0.48)),
            "visible": -one.visible,
            "hidden": Measure(value=0.25, interval=(0.17, 0.33)),
            "sign": "under",
        }
    )
    words = vocabulary("answer")
    assert "says 70 % and is right 30 %" in finding_sentence(one, words)
    assert "says 30 % and is right 70 %" in finding_sentence(other, words)
