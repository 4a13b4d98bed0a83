"""A new score of auto is one module and its line: it is stacked, tabled, saved and read back."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from miscal.estimators.auto import model
from miscal.estimators.auto.member import CrossFitted, Member
from miscal.estimators.field import MiscalibrationField


@dataclass(frozen=True)
class SignMember(Member):
    """A shift of one size, by the sign of the product of two columns."""

    size: float

    def shift(self, at):
        return self.size * np.sign(at.inputs.x[:, 0] * at.inputs.x[:, 1])


def crossfit_sign(rows):
    member = SignMember(1.5)
    return CrossFitted(member, member.shift(rows.at), {"size": member.size})


def scores(rows):
    return {"toy sign of a product": crossfit_sign}


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(600, 2)), rng.uniform(0.3, 0.7, 600)
    truth = expit(np.log(f / (1 - f)) + 1.5 * np.sign(X[:, 0] * X[:, 1]))
    return X, (rng.random(600) < truth).astype(int), f


def test_its_line_puts_it_into_the_stack_the_table_and_the_saved_field(world, monkeypatch, tmp_path):
    X, y, f = world
    monkeypatch.setattr(model, "FIRST", (*model.FIRST, scores))
    field = MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
    row = next(row for row in field.selection_ if row["name"] == "toy sign of a product")
    assert row["size"] == 1.5
    assert row["weight"] > 0.2
    assert row["chosen"]
    field.save(tmp_path / "field")
    again = MiscalibrationField.load(tmp_path / "field")
    np.testing.assert_array_equal(again.predict(X, confidence=f), field.predict(X, confidence=f))
