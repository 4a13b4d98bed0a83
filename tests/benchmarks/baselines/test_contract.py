"""One contract for every baseline: shapes, ranges, determinism, honesty about labels, and learning what is there."""

import numpy as np
import pytest
from scipy.special import expit, logit

import baselines
from baselines import METHODS, Baseline
from baselines.methods import trees
from baselines.methods.residuals import ResidualNetwork
from miscal.base.errors import InputError

pytestmark = pytest.mark.whole


class ToyMean(Baseline):
    """The rate of right answers, whatever the confidence."""

    name = "toy_mean"
    reads_inputs = False

    def _fit(self, rows, seed):
        self.rate_ = rows.correct.mean()

    def _calibrate(self, X, confidence):
        return np.full(len(X), self.rate_)


SLOW = {"paper", "auto", "mcgrad"}
# the toy below stands for a map that somebody adds
TOY = "toy_mean"
KINDS = {**METHODS, TOY: ToyMean}
EVERY = [pytest.param(m, marks=[pytest.mark.slow] if m in SLOW else []) for m in sorted(KINDS)]
LOCAL = [one for one in EVERY if KINDS[one.values[0]].reads_inputs]
GLOBAL = [one for one in EVERY if not KINDS[one.values[0]].reads_inputs]


def world(n=900, *, shift=2.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    f = rng.uniform(0.2, 0.95, n)
    truth = expit(logit(f) + shift * np.sign(X[:, 0]))
    y = (rng.random(n) < truth).astype(float)
    split = np.where(np.arange(n) % 9 == 0, "val", "train")
    return X, f, y, split, truth


def new(name):
    for package in KINDS[name].packages:
        pytest.importorskip(package)
    return KINDS[name]()


FEW = (
    (trees, "VIEWS", (None,)),
    (trees, "LEAVES", (4,)),
    (trees, "ROUNDS", (10, 40, 90)),
    (ResidualNetwork, "_options", lambda self: (1.0, 10.0)),
)
ALL = [(place, name, getattr(place, name)) for place, name, _ in FEW]


@pytest.fixture(scope="module")
def few_candidates():
    """Leave the slowest searches few settings to choose from; the fast tests need a choice, not a good one."""
    with pytest.MonkeyPatch.context() as patch:
        for place, name, few in FEW:
            patch.setattr(place, name, few)
        yield


@pytest.fixture(scope="module")
def fitted(few_candidates):
    known = {}

    def get(name):
        if name not in known:
            X, f, y, split, _ = world()
            known[name] = new(name).fit(X, y, f, split=split, random_state=0)
        return known[name]

    return get


@pytest.mark.filterwarnings("ignore::Warning:mcgrad", "ignore:X does not have valid feature names")
class TestContract:
    @pytest.mark.parametrize("name", EVERY)
    def test_ranges_and_names(self, name, fitted):
        X, f, *_ = world(200, seed=1)
        f[:2] = 0.0, 1.0
        p, delta = fitted(name).calibrate(X, f), fitted(name).delta(X, f)
        assert KINDS[name].name == name
        assert p.shape == delta.shape == (200,)
        assert p.dtype == delta.dtype == np.float64
        assert np.isfinite(p).all()
        assert np.isfinite(delta).all()
        assert ((p >= 0) & (p <= 1)).all()
        assert (np.abs(delta) <= 1).all()

    @pytest.mark.parametrize("name", EVERY)
    def test_rows_are_answered_one_by_one(self, name, fitted):
        X, f, *_ = world(50, seed=2)
        order = np.random.default_rng(0).permutation(50)
        np.testing.assert_allclose(
            fitted(name).calibrate(X, f)[order], fitted(name).calibrate(X[order], f[order]), atol=1e-5
        )

    @pytest.mark.parametrize("name", [one for one in EVERY if not one.marks])
    def test_same_seed_same_answer(self, name, fitted):
        X, f, y, split, _ = world()
        again = new(name).fit(X, y, f, split=split, random_state=0)
        np.testing.assert_array_equal(again.calibrate(X, f), fitted(name).calibrate(X, f))

    @pytest.mark.parametrize("name", EVERY)
    def test_arguments_are_not_changed(self, name, fitted):
        X, f, *_ = world(60, seed=3)
        before = X.copy(), f.copy()
        X.flags.writeable = f.flags.writeable = False
        fitted(name).calibrate(X, f)
        np.testing.assert_array_equal(X, before[0])
        np.testing.assert_array_equal(f, before[1])

    @pytest.mark.parametrize("name", EVERY)
    def test_lengths_that_differ_are_refused(self, name, fitted):
        X, f, *_ = world(60, seed=3)
        with pytest.raises(InputError, match="59"):
            fitted(name).calibrate(X, f[1:])

    @pytest.mark.parametrize("name", EVERY)
    def test_inputs_of_another_width_are_refused(self, name, fitted):
        X, f, *_ = world(60, seed=3)
        for method in (fitted(name).calibrate, fitted(name).delta):
            with pytest.raises(InputError, match=r"1 columns.* fitted to"):
                method(X[:, :1], f)


@pytest.mark.filterwarnings("ignore::Warning:mcgrad", "ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", LOCAL)
def test_hidden_structure_is_found_with_the_right_sign(name, fitted):
    X, f, y, _, truth = world(2000, seed=4)
    delta = fitted(name).delta(X, f)
    assert np.corrcoef(delta, truth - f)[0, 1] > 0.65
    p = fitted(name).calibrate(X, f)
    assert np.mean((p - y) ** 2) < np.mean((f - y) ** 2) - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees", "residual_network"])
def test_all_candidates_find_it_too(name, monkeypatch):
    for place, attribute, values in ALL:
        monkeypatch.setattr(place, attribute, values)
    X, f, y, split, _ = world()
    model = METHODS[name]().fit(X, y, f, split=split, random_state=0)
    X, f, _, _, truth = world(2000, seed=4)
    assert np.corrcoef(model.delta(X, f), truth - f)[0, 1] > 0.65


@pytest.mark.usefixtures("few_candidates")
def test_trees_see_that_two_columns_act_together():
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(2000, 2)).astype(np.float32), np.full(2000, 0.5)
    truth = expit(2.0 * np.sign(X[:, 0] * X[:, 1]))
    y = (rng.random(2000) < truth).astype(float)
    delta = METHODS["trees"]().fit(X[:1500], y[:1500], f[:1500]).delta(X[1500:], f[1500:])
    assert np.corrcoef(delta, truth[1500:] - 0.5)[0, 1] > 0.8


@pytest.mark.filterwarnings("ignore::Warning:mcgrad", "ignore:X does not have valid feature names")
@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("name", [one for one in LOCAL if not one.marks])
def test_inputs_that_are_all_alike_leave_a_global_map(name):
    _, f, y, split, _ = world(400)
    X = np.ones((400, 3), np.float32)
    p = new(name).fit(X, y, f, split=split).calibrate(X, f)
    assert np.isfinite(p).all()


@pytest.mark.parametrize("name", GLOBAL)
def test_global_maps_do_not_see_the_inputs(name, fitted):
    X, f, *_ = world(300, seed=5)
    p = fitted(name).calibrate(X, f)
    np.testing.assert_array_equal(p, fitted(name).calibrate(X[::-1], f))
    assert (np.diff(p[np.argsort(f)]) >= 0).all()


@pytest.mark.parametrize("split", [["train"] * 30, ["train"] * 29 + ["test"]])
def test_bad_splits_are_refused(split):
    X, f, y, *_ = world(30)
    with pytest.raises(InputError, match="split"):
        METHODS["ridge"]().fit(X, y, f, split=split)


def test_isotonic_is_scikit_learns():
    from sklearn.isotonic import IsotonicRegression

    X, f, y, split, _ = world(300)
    plain = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(f, y)
    fitted = METHODS["isotonic"]().fit(X, y, f, split=split)
    np.testing.assert_array_equal(fitted.calibrate(X, f), plain.predict(f))


def test_beta_finds_a_beta_distortion():
    rng = np.random.default_rng(3)
    f = rng.random(100_000)
    p = expit(2.0 * np.log(f) - 0.5 * np.log1p(-f) + 0.3)
    fitted = METHODS["beta"]().fit(f[:, None], (rng.random(len(f)) < p).astype(float), f)
    np.testing.assert_allclose(fitted.coefficients_, [2.0, 0.5, 0.3], atol=0.06)


def test_a_module_with_a_baseline_is_found_and_stands_before_our_own(tmp_path, monkeypatch):
    (tmp_path / "toy_found.py").write_text(
        "from baselines.protocol import Baseline\n\n\nclass Found(Baseline):\n    name = 'toy_found'\n"
    )
    monkeypatch.setattr(baselines.methods, "__path__", [*baselines.methods.__path__, str(tmp_path)])
    methods = baselines.find_methods()
    assert set(methods) - set(METHODS) == {"toy_found"}
    assert list(methods).index("isotonic") < list(methods).index("toy_found") < list(methods).index("auto")
