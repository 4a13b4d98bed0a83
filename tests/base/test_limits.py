"""Seeds and weights that would overflow somewhere are refused where they come in."""

import numpy as np
import pytest

from miscal.base.checks import check_seed, check_weight
from miscal.base.errors import InputError
from miscal.calibration.metrics.scores import brier
from miscal.cli import main
from miscal.data.readers.read import read_triples
from miscal.estimators.field import MiscalibrationField

N = 100
Y, F = np.arange(N) % 2, np.linspace(0.1, 0.9, N)


@pytest.mark.parametrize("largest", [1e308, 1e101, 1e-320])
def test_weights_whose_sums_cannot_be_computed_are_refused_at_every_door(largest):
    weight = np.where(np.arange(N) % 2, largest, 0.0)
    doors = [
        lambda: check_weight(weight, N),
        lambda: brier(Y, F, sample_weight=weight),
        lambda: MiscalibrationField().fit(F[:, None], Y, confidence=F, sample_weight=weight),
        lambda: read_triples({"x": F, "confidence": F, "correct": Y, "w": weight}, features="x", weight="w"),
    ]
    for door in doors:
        with pytest.raises(InputError, match="from 1e-100 to 1e100"):
            door()
    assert brier(Y, F, sample_weight=np.full(N, 1e99)) == pytest.approx(brier(Y, F))


@pytest.mark.parametrize("seed", [10**6000, 2**32, -1, 1.5, True, "1"], ids=lambda seed: type(seed).__name__)
def test_seeds_that_no_library_takes_are_refused(seed):
    for door in (check_seed, lambda seed: MiscalibrationField(random_state=seed).fit(F[:, None], Y, confidence=F)):
        with pytest.raises(InputError, match="from 0 to 4294967295"):
            door(seed)


@pytest.mark.parametrize("seed", ["7" * 6000, "7" * 3000, str(2**32)], ids=len)
def test_a_long_seed_ends_in_a_short_line(seed, capsys, tmp_path):
    assert main(["demo", "--out", str(tmp_path / "run"), "--seed", seed]) == 2
    said = capsys.readouterr().err
    assert "at most 4294967295" in said
    assert len(said) < 200
