"""Each class as an event: one family of tests, confusions by name, and nothing that depends on the order of classes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.data.judged import ClassProbabilities
from miscal.data.triples import Triples
from miscal.discovery.fitted_rows import FittedRows, evidence_of
from miscal.discovery.several_classes import (
    TOP_LABEL_ERROR,
    ClassRun,
    choose_classes,
    class_ledgers,
    class_numbers,
    correct_classes,
)
from miscal.discovery.summary import Summary
from miscal.estimators.registry import FieldEstimate

NAMES = ("cat", "dog", "owl", "yak")


def _rows(n: int = 1500, planted: float = 0.0, seed: int = 0) -> FittedRows:
    """Rows of four classes without a field; where cat is predicted, dog is the label more often than the model says."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), n)
    top, truth = p.argmax(axis=1), p.copy()
    truth[top == 0, 1] += planted
    truth /= truth.sum(axis=1, keepdims=True)
    code = np.array([rng.choice(4, p=row) for row in truth])
    classes = ClassProbabilities(NAMES, p, code)
    X = rng.normal(size=(n, 1))
    place = rng.choice(np.array(["north", "south"], object), n)
    metadata = {"place": place, "predicted": np.array([NAMES[k] for k in top], object)}
    f, y = p[np.arange(n), top], (top == code).astype(float)
    triples = Triples(X, f, y, metadata=metadata, classes=classes)
    nothing = np.zeros(n)
    estimate = FieldEstimate(
        **dict.fromkeys(set(FieldEstimate.__dataclass_fields__) - {"coordinates", "corrected", "local"}, nothing),
        coordinates=nothing[:, None], corrected=f, local=np.ones(n, dtype=bool),
    )  # fmt: skip
    return FittedRows(triples, None, estimate, f, f, {"raw": f, "miscal": f}, fold=rng.permutation(np.arange(n) % 3))


def _ledgers(rows: FittedRows):
    p = rows.triples.classes.probability
    return class_ledgers(rows, p, own_split=False, seed=0)


@pytest.fixture(scope="module")
def planted() -> FittedRows:
    return _rows(planted=0.6)


@pytest.fixture(scope="module")
def found(planted):
    return _ledgers(planted)


@given(st.lists(st.integers(0, 400), min_size=3, max_size=60))
def test_shares_of_the_error_sum_to_at_most_one(labels):
    chosen = choose_classes(np.array(labels))
    assert len(chosen) <= 20
    assert all(labels[k] >= 30 for k in chosen)
    share = (1 - TOP_LABEL_ERROR) / max(1, len(chosen))
    assert TOP_LABEL_ERROR + share * len(chosen) <= 1 + 1e-12


def test_adjusted_p_values_are_of_the_whole_family(found):
    ledgers, error, _ = found
    for one in ledgers.values():
        for finding in one.findings:
            assert finding.p_adjusted >= min(1.0, finding.p_value / error)


def test_a_planted_confusion_is_found_and_named(planted, found):
    numbers = class_numbers(planted, ClassRun(*correct_classes(planted, 0), *found))
    assert ("cat", "dog") in {(one.predicted, one.label) for one in numbers.confusions}
    one = next(one for one in numbers.confusions if (one.predicted, one.label) == ("cat", "dog"))
    assert one.sign == "under"
    assert one.rate > one.probability
    dog = numbers.classes[1]
    assert dog.findings[one.finding - 1].description == "predicted = cat"
    assert numbers.log_loss["corrected"] < numbers.log_loss["raw"]


def test_permuting_classes_permutes_their_findings(planted, found):
    order = [2, 0, 3, 1]
    classes = planted.triples.classes
    moved = ClassProbabilities(
        tuple(classes.names[k] for k in order), classes.probability[:, order], np.argsort(order)[classes.code]
    )
    again = _ledgers(replace(planted, triples=replace(planted.triples, classes=moved)))
    for place, k in enumerate(order):
        assert again[0][place].findings == found[0][k].findings


@pytest.mark.whole
def test_corrected_probabilities_sum_to_one_and_have_not_seen_their_row(planted):
    corrected = correct_classes(planted, 0)[1]
    assert np.allclose(corrected.sum(axis=1), 1.0, atol=1e-12)
    classes, first = planted.triples.classes, planted.fold == 0
    other = replace(classes, code=np.where(first, (classes.code + 1) % 4, classes.code))
    changed = correct_classes(replace(planted, triples=replace(planted.triples, classes=other)), 0)[1]
    assert np.array_equal(corrected[first], changed[first])


def test_evidence_in_the_order_of_time_is_refused(planted):
    with pytest.raises(InputError, match="not offered for several classes"):
        evidence_of(planted.triples, "auto", "time")


def test_a_summary_without_classes_has_no_key_of_them():
    assert "classes" not in Summary.model_construct(classes=None, seed=0).model_dump()
