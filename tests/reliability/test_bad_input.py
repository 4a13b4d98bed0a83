"""Bad input at every door: the same faults, the same refusal, before anything is computed.

One case for each door and kind of fault; every value, type and carrier of a kind is tried on the checks themselves,
in tests/base/test_checks.py.
"""

import contextlib
import io
import re
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.labelled_rows import check_rows
from miscal.calibration.metrics.curve import reliability_curve
from miscal.calibration.metrics.gap import measure_gap, worst_slice
from miscal.calibration.metrics.inference import METRICS as EVERY
from miscal.calibration.metrics.inference import measure_ece, measure_smece
from miscal.calibration.metrics.scores import brier, ece, log_loss
from miscal.calibration.metrics.smooth import smece
from miscal.cli import main
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples
from miscal.discovery.saved_model import SavedModel
from miscal.estimators.field import MiscalibrationField
from miscal.metrics import hidden_miscalibration, worst_slice_gap
from miscal.report.displays import FindingsDisplay
from miscal.report.reliability import ReliabilityDisplay
from miscal.runs.classifier import LocalCalibratedClassifier

N = 200
BAD = [5, 7]


def good():
    rng = np.random.default_rng(0)
    f = rng.uniform(0.2, 0.8, N)
    X = rng.normal(size=(N, 2))
    return X, (rng.random(N) < f + 0.2 * np.sign(X[:, 0])).astype(np.int64), f


def as_table(X, y, f):
    return {"confidence": f, "correct": y} | {f"x_{k}": column for k, column in enumerate(np.asarray(X).T)}


# --- doors --------------------------------------------------------------------------------------------------------

REGIME = np.where(np.arange(N) % 3 == 0, "over", "good").astype(object)
FEW = {"n_draws": 20}
METRICS = {
    "smece": smece,
    "ece": ece,
    "brier": brier,
    "log_loss": log_loss,
    "reliability_curve": reliability_curve,
    "measure_smece": lambda y, f: measure_smece(y, f, **FEW),
    "measure_ece": lambda y, f: measure_ece(y, f, **FEW),
    "measure_gap": lambda y, f: measure_gap(y, f, REGIME[: len(y)], **FEW),
    "worst_slice": lambda y, f: worst_slice(y, f, REGIME[: len(y)]),
    "all metrics": lambda y, f: {name: one.estimate_of(check_rows(y, f), 20, 0) for name, one in EVERY.items()},
}
WITHOUT_X = METRICS | {f"{name}.fit": lambda y, f, kind=kind: kind().fit(y, f) for name, kind in CALIBRATORS.items()}


def through_files(command, ending=".parquet"):
    """Call a command on a file; its line is raised as the error that it is, its folder must not be there."""

    def call(X, y, f):
        with tempfile.TemporaryDirectory() as folder:
            data, out = Path(folder) / f"d{ending}", Path(folder) / "out.csv"
            table = pl.DataFrame({name: pl.Series(values) for name, values in as_table(X, y, f).items()})
            {".parquet": table.write_parquet, ".csv": table.write_csv, ".jsonl": table.write_ndjson}[ending](data)
            said = io.StringIO()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                status = main([*command, str(data), "--out", str(out), "--features", "x_*"])
            if status:
                assert status == 2, said.getvalue()
                assert re.fullmatch(r"miscal: [^\n]+\n", said.getvalue())
                assert [path.name for path in Path(folder).iterdir()] == [data.name]
                raise InputError(said.getvalue())

    return call


@cache
def fitted():
    X, y, f = good()
    return MiscalibrationField().fit(X, y, confidence=f)


@pytest.fixture(scope="module")
def field():
    return fitted()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "field"
    rows = read_triples(as_table(*good()), features="x_*")
    SavedModel(MiscalibrationField().fit_triples(rows).to_saved(), rows.encoder, "confidence").save(folder)
    return folder


LEARNING = {
    "fit": lambda X, y, f: MiscalibrationField().fit(X, y, confidence=f),
    "fit, paper": lambda X, y, f: MiscalibrationField("paper").fit(X, y, confidence=f),
    "Triples.of": lambda X, y, f: Triples.of(X, confidence=f, correct=y),
    "read_triples": lambda X, y, f: read_triples(as_table(X, y, f), features="x_*"),
    "miscal discover": through_files(["discover"]),
}
ANSWERING = ("predict", "estimate", "calibrate", "correct")


def answering(field):
    return {name: lambda X, f, name=name: getattr(field, name)(X, f) for name in ANSWERING}


class Doors:
    """Every way in, each called with X, y and f; `uses` says which of them it looks at."""

    def __init__(self, field, model):
        self.calls = {name: (lambda X, y, f, call=call: call(y, f)) for name, call in WITHOUT_X.items()}
        self.calls |= LEARNING
        self.calls |= {name: (lambda X, y, f, call=call: call(X, f)) for name, call in answering(field).items()}
        self.calls["miscal calibrate"] = through_files(["calibrate", str(model)])


NAMES = [*WITHOUT_X, *LEARNING, *ANSWERING, "miscal calibrate"]
USES = {
    **dict.fromkeys(WITHOUT_X, "yf"),
    **dict.fromkeys(LEARNING, "Xyf"),
    **dict.fromkeys(ANSWERING, "Xf"),
    "miscal calibrate": "Xf",
}


def using(letter):
    return [name for name in NAMES if letter in USES[name]]


@pytest.fixture(scope="module")
def doors(field, model):
    return Doors(field, model).calls


def refused(call, X, y, f, *said):
    """Call with what must be refused; nothing that was given is changed."""
    before = [np.array(one, copy=True) for one in (X, y, f)]
    with pytest.raises(InputError) as caught:
        call(X, y, f)
    for words in said:
        assert words in str(caught.value), caught.value
    for one, other in zip((X, y, f), before, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def with_bad(values, bad):
    values = np.array(values, dtype=np.float64)
    values[BAD, ...] = bad
    return values


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("fit", "fit, paper", "miscal discover")])
def test_good_input_passes(doors, name):
    doors[name](*good())


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("letter", "name"), [(letter, name) for letter in "Xyf" for name in using(letter)])
def test_values_that_are_not_finite(doors, name, letter):
    columns = dict(zip("Xyf", good(), strict=True))
    # columns of a table may be blank
    columns[letter] = with_bad(columns[letter], -np.inf if letter == "X" else np.nan)
    refused(doors[name], *columns.values(), "2 of 200", "5, 7")


@pytest.mark.parametrize("name", using("f"))
def test_confidences_outside_the_unit_interval(doors, name):
    X, y, f = good()
    refused(doors[name], X, y, with_bad(f, 1 + 1e-5), "[0, 1]", "2 of 200", "5, 7")


@pytest.mark.parametrize("name", using("f"))
def test_confidences_in_percent(doors, name):
    X, y, f = good()
    refused(doors[name], X, y, 100 * f, "percentages", "100")


CODES = {
    "-1 and 1": (lambda y: 2 * y - 1, "-1, 1"),
    "1 and 2": (lambda y: y + 1, "1, 2"),
    "soft": (lambda y: 0.8 * y + 0.1, "0.1, 0.9"),
    "text": (lambda y: np.where(y == 1, "yes", "no"), "'no'"),
    "three values": (lambda y: np.where(np.arange(len(y)) == 5, 2, y), "0, 1, 2"),
}


@pytest.mark.parametrize(
    ("name", "code"),
    # a file is read by rules of its own
    [*((name, "three values") for name in using("y")), *(("miscal discover", code) for code in list(CODES)[:-1])],
)
def test_outcomes_of_another_code(doors, name, code):
    X, y, f = good()
    change, listed = CODES[code]
    refused(doors[name], X, change(y), f, listed)


# --- shapes -------------------------------------------------------------------------------------------------------

IN_MEMORY = [name for name in NAMES if not name.startswith("miscal ")]


@pytest.mark.parametrize(
    ("letter", "name"), [(letter, name) for letter in "Xyf" for name in IN_MEMORY if letter in USES[name]]
)
def test_lengths_that_differ(doors, name, letter):
    columns = dict(zip("Xyf", good(), strict=True))
    # one value would be laid beside all others by numpy
    columns[letter] = columns[letter][:1]
    refused(doors[name], *columns.values(), str(N))


IN_ORDER = {
    "score": lambda X, y, f: MiscalibrationField(confidence_column="a").score(X, y, sample_weight=f),
    "LocalCalibratedClassifier.fit": lambda X, y, f: LocalCalibratedClassifier().fit(X, y, sample_weight=f),
    "hidden_miscalibration": lambda X, y, f: hidden_miscalibration(y, f, slices=f),
    "worst_slice_gap": lambda X, y, f: worst_slice_gap(y, f, slices=f),
    "ReliabilityDisplay": lambda X, y, f: ReliabilityDisplay.from_predictions(y, f),
    "FindingsDisplay": lambda X, y, f: FindingsDisplay.from_predictions(y, f, by=X),
}


# scikit-learn's own words on a frame where an array was fitted
@pytest.mark.filterwarnings("ignore:X has feature names, but MiscalibrationField was fitted without")
@pytest.mark.parametrize("name", [*IN_MEMORY, *IN_ORDER])
def test_the_same_index_in_another_order_is_refused(doors, name):
    X, y, f = good()
    index = [f"row {k}" for k in range(N)]
    columns = {
        "X": pd.DataFrame(X, columns=["a", "b"], index=index),
        "y": pd.Series(y, index=index),
        "f": pd.Series(f, index=index),
    }
    call = doors.get(name) or IN_ORDER[name]
    last = USES.get(name, "yf")[-1]
    columns[last] = columns[last].sample(frac=1, random_state=0)
    with pytest.raises(InputError, match=r"index of \w+ in another order.*\.to_numpy\(\) if the places are right"):
        call(*columns.values())


@pytest.mark.parametrize("name", [name for name in IN_MEMORY if "f" in USES[name] and name != "read_triples"])
def test_probabilities_of_both_classes(doors, name):
    X, y, f = good()
    refused(doors[name], X, y, np.column_stack([1 - f, f]), "second column", "[:, 1]")


@pytest.mark.parametrize("name", NAMES)
def test_no_rows(doors, name):
    refused(doors[name], *(one[:0] for one in good()))


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_few_rows_are_numbers(name, n):
    _, y, f = good()
    found = METRICS[name](y[:n], f[:n])
    assert all(np.isfinite(one).all() for one in numbers_in(found))


@pytest.mark.parametrize("n", [1, 19])
@pytest.mark.parametrize("name", ["fit", "fit, paper", "miscal discover"])
def test_too_few_rows_to_learn_from(doors, name, n):
    columns = [one[:n] for one in good()]
    columns[1][: n // 2], columns[1][n // 2 :] = 0, 1
    with pytest.raises(InputError, match=r"\b\d+ .*(rows|needed)"):
        doors[name](*columns)


def numbers_in(found):
    """Every number of a result that is defined."""
    if found is None or isinstance(found, str):
        return
    if isinstance(found, (float, int, np.ndarray, np.number)):
        yield np.asarray(found, dtype=float)
        return
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, tuple) else vars(found).values()
    for part in parts:
        yield from numbers_in(part)


# --- types --------------------------------------------------------------------------------------------------------


def read_only(values):
    values = np.array(values)
    values.flags.writeable = False
    return values


CARRIERS = {
    "list": lambda v: v.tolist(),
    "pandas": lambda v: pd.DataFrame(v, columns=["a", "b"]) if v.ndim == 2 else pd.Series(v),
    "polars": lambda v: pl.DataFrame(v, schema=["a", "b"]) if v.ndim == 2 else pl.Series(v),
    "torch": lambda v: torch.tensor(v),
    "read-only": read_only,
    "column order": lambda v: np.asfortranarray(v),
    "reversed": lambda v: np.ascontiguousarray(v[::-1])[::-1],
    "masked, none masked": lambda v: np.ma.masked_array(v, mask=np.zeros(v.shape, bool)),
    "objects": lambda v: v.astype(object),
    "big endian": lambda v: v.astype(v.dtype.newbyteorder(">")),
}


# scikit-learn's own words on a frame where an array was fitted
@pytest.mark.filterwarnings("ignore:X has feature names, but MiscalibrationField was fitted without")
@pytest.mark.parametrize(
    ("name", "carrier"),
    [*(("estimate", one) for one in CARRIERS), *((name, "pandas") for name in ANSWERING if name != "estimate")],
)
def test_answers_do_not_depend_on_the_carrier(field, name, carrier):
    X, _, f = good()
    call = answering(field)[name]
    one, other = (list(numbers_in(call(*given_))) for given_ in ((X, f), (CARRIERS[carrier](X), CARRIERS[carrier](f))))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in other]


# --- laws ---------------------------------------------------------------------------------------------------------

PAIRS = st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=40)
WITHOUT_DRAWS = ["smece", "ece", "brier", "log_loss", "reliability_curve", "worst_slice"]


@pytest.mark.parametrize("name", WITHOUT_DRAWS)
@settings(max_examples=70)
@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_matter(name, pairs, random):
    order = list(range(len(pairs)))
    random.shuffle(order)
    y, f = (np.array([pair[k] for pair in pairs], dtype=float) for k in (0, 1))

    def call(at):
        if name == "worst_slice":
            return worst_slice(y[at], f[at], REGIME[: len(y)][at], min_rows=1)
        return METRICS[name](y[at], f[at])

    for one, other in zip(numbers_in(call(np.arange(len(y)))), numbers_in(call(np.array(order))), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("outcome", [0, 1])
@pytest.mark.parametrize("name", ["miscal discover", "read_triples"])
def test_one_class_teaches_nothing_and_is_refused(doors, name, outcome):
    X, y, f = good()
    with pytest.raises(InputError, match="one class"):
        doors[name](X, np.full_like(y, outcome), f)


@settings(max_examples=60)
@given(st.floats(-30, 30), st.integers(0, 1000))
def test_answers_are_finite_however_far_the_row(power, seed):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(5, 2)) * 10.0**power, -1e37, 1e37)
    f = rng.random(5)
    told = fitted().estimate(X, f)
    assert np.isfinite(told.delta).all()
    assert ((told.delta >= -f - 1e-9) & (told.delta <= 1 - f + 1e-9)).all()
    if power > 3:
        far = np.abs(X).max(1) > 100
        assert not told.supported[far].any()
