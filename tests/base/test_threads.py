"""The limit of one thread, and filters of warnings, hold inside their blocks alone."""

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from miscal.base.process import one_thread, without_warning
from miscal.estimators.field import MiscalibrationField


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_allowed():
    with threadpool_limits(2):
        yield


def test_the_limit_holds_inside_and_is_lifted_at_the_end(two_allowed):
    with one_thread():
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        with one_thread():
            pass
        assert blas_threads() == {1}
    assert {library["num_threads"] for library in threadpool_info()} == {2}


def test_an_error_lifts_it_too(two_allowed):
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == {2}


def test_python_calls_of_the_field_compute_on_one_thread_and_leave_the_limit_as_it_was(two_allowed, monkeypatch):
    from miscal.estimators.auto import estimator
    from miscal.estimators.auto.model import AutoModel

    seen = []

    def watched(function):
        def call(*arguments, **named):
            seen.append(blas_threads())
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(estimator, "fit_auto", watched(estimator.fit_auto))
    monkeypatch.setattr(AutoModel, "correct", watched(AutoModel.correct))
    rng = np.random.default_rng(0)
    X, f, y = rng.normal(size=(60, 2)), rng.random(60), np.arange(60) % 2
    field = MiscalibrationField().fit(X, y, confidence=f)
    field.predict(X, confidence=f)
    field.calibrate(X, confidence=f)
    assert seen == [{1}] * 3
    assert blas_threads() == {2}


def test_threads_that_ignore_warnings_hear_none_and_leave_the_filters_as_they_were():
    before = list(warnings.filters)

    def work(number):
        with without_warning((UserWarning, RuntimeWarning)[number % 2]):
            # the other thread is given a turn
            time.sleep(1e-4)
            warnings.warn("heard", (UserWarning, RuntimeWarning)[number % 2], stacklevel=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    assert warnings.filters == before
