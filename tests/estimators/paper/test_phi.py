"""Laws of the loss, of training, and of the grid search."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from miscal.base.errors import InputError, ResourceError
from miscal.base.folders import built, state_of
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.kernel import exponent_factors, smooth, weights_from_factors
from miscal.estimators.paper import phi as phi_module
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import search
from miscal.estimators.paper.phi import (
    DiscoveryLoss,
    Representation,
    Training,
    TrainingData,
    average,
    batches,
    device_of,
    kernel_weights,
    layer_sizes,
)
from miscal.estimators.registry import make_estimator, uses_device

SIZES = (2, 256, 64)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)).astype(np.float32)
    probability = np.where(X[:, 0] > 0, 0.8, 0.2)
    residual = ((rng.random(1500) < probability) - 0.5).astype(np.float32)
    one = np.ones(1500, np.float32)
    train, val = slice(0, 1200), slice(1200, 1500)
    bank = np.arange(0, 1200, 2)
    return TrainingData(X[train], residual[train], one[train], X[val], residual[val], one[val], bank)


def discovery_loss(z, residual, sigma, penalty, weight=None):
    weight = torch.ones_like(residual) if weight is None else weight
    return DiscoveryLoss.apply(z, residual, weight, sigma, penalty, 20.0)[0]


def plain_loss(z, r, sigma, penalty, weight, m_min):
    """Equation 5, as it is written."""
    K = torch.exp(-(z[:, None] - z[None]).square().sum(2) / sigma**2)
    mass = K @ weight
    delta = (K @ (weight * r)) / mass
    loss = -delta.square() + penalty * (m_min - mass).clamp(min=0).square()
    return (weight * loss).sum() / weight.sum()


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_gradient_are_those_of_the_formula(sigma, penalty, weighted):
    g = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, generator=g, dtype=torch.double).requires_grad_()
    r = torch.rand(40, generator=g, dtype=torch.double) - 0.5
    weight = torch.rand(40, generator=g, dtype=torch.double) + 0.1 if weighted else torch.ones(40).double()
    loss = discovery_loss(z, r, sigma, penalty, weight=weight if weighted else None)
    expected = plain_loss(z, r, sigma, penalty, weight, 20.0)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, z)[0] for value in (loss, expected)))


def test_loss_does_not_see_sign_or_order_and_takes_weight_for_repeats():
    g = torch.Generator().manual_seed(1)
    z, r = torch.randn(30, 4, generator=g).double(), torch.rand(30, generator=g).double() - 0.5
    loss = discovery_loss(z, r, 0.7, 0.01)
    torch.testing.assert_close(discovery_loss(z, -r, 0.7, 0.01), loss)
    order = torch.randperm(30, generator=g)
    torch.testing.assert_close(discovery_loss(z[order], r[order], 0.7, 0.01), loss)
    times = torch.arange(30) % 3 + 1
    repeated = torch.repeat_interleave(torch.arange(30), times)
    torch.testing.assert_close(
        discovery_loss(z, r, 0.7, 0.01, weight=times.double()), discovery_loss(z[repeated], r[repeated], 0.7, 0.01)
    )


def test_gradient_vanishes_where_everything_coincides():
    z = torch.ones(10, 3, requires_grad=True)
    discovery_loss(z, torch.linspace(-1, 1, 10), 0.05, 0.1).backward()
    assert torch.equal(z.grad, torch.zeros_like(z))


def test_network_is_the_papers():
    phi = Representation(layer_sizes(5), seed=0)
    assert [tuple(p.shape) for p in phi.parameters()] == [(256, 5), (256,), (256, 256), (256,), (64, 256), (64,)]
    assert layer_sizes(16)[1:] == (256, 64)
    assert layer_sizes(17)[1:] == (512, 128)
    x = torch.randn(7, 5)
    by_hand = x
    for layer, last in ((phi.first, False), (phi.second, False), (phi.last, True)):
        by_hand = by_hand @ layer.weight.T + layer.bias
        by_hand = by_hand if last else torch.nn.functional.gelu(by_hand)
    torch.testing.assert_close(phi(x), by_hand / by_hand.norm(dim=1, keepdim=True), atol=1e-6, rtol=1e-5)


def test_dropout_sits_between_the_hidden_layers():
    phi = Representation(SIZES, seed=0)
    x = torch.randn(3, 2)
    silent = phi(x, torch.zeros(3, 256))  # nothing of x passes a mask of zeros
    torch.testing.assert_close(silent[0], silent[1])
    torch.testing.assert_close(phi(x, torch.ones(3, 256)), phi(x))


def test_batches_cover_every_row_once():
    rows = torch.cat(list(batches(3000, np.random.default_rng(0))))
    assert torch.equal(rows.sort().values, torch.arange(3000))


def test_pausing_changes_nothing(data):
    straight = Training(SIZES, 0.3, 0.01, seed=3, max_epochs=4).advance(data, 4)
    paused = Training(SIZES, 0.3, 0.01, seed=3, max_epochs=4)
    for until in (1, 2, 4):
        paused.advance(data, until)
    assert straight.proxies == paused.proxies
    assert straight.best_epoch == 1 + int(np.argmin(straight.proxies))
    for a, b in zip(straight.best().parameters(), paused.best().parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_global_generators_are_left_alone(data):
    before, before_numpy = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    Training(SIZES, 0.3, 0.01, seed=3, max_epochs=1).advance(data, 1)
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(before_numpy, np.random.get_state()[1])  # noqa: NPY002


def test_recorded_proxy_is_that_of_the_best_weights(data):
    training = Training(SIZES, 0.5, 0.001, seed=0, max_epochs=3).advance(data, 3)
    errors = np.square(data.residual_val - training.estimate(data, data.X_val))
    assert training.best_proxy == pytest.approx(errors.mean(), rel=1e-6)
    np.testing.assert_allclose(training.best_errors, errors, atol=1e-6)


def test_patience_ends_training(data):
    training = Training(SIZES, 0.05, 0.1, seed=0, max_epochs=100, patience=1)
    training.advance(data, 100)
    assert training.finished
    assert training.epoch == 100 or training.epoch == training.best_epoch + 1


def test_the_grid_gives_the_numbers_of_each_setting_alone(data):
    sigmas, penalties = (0.1, 0.5), (0.001, 0.1)
    found = search(data, sigmas=sigmas, penalties=penalties, seed=5, max_epochs=3, n_jobs=1)
    assert [(c.sigma, c.penalty) for c in found.candidates] == [(s, p) for s in sigmas for p in penalties]
    for candidate, training in zip(found.candidates, found.trainings, strict=True):
        alone = Training(SIZES, candidate.sigma, candidate.penalty, seed=5, max_epochs=3).advance(data, 3)
        np.testing.assert_allclose(training.proxies, alone.proxies, rtol=1e-6)
    assert found.chosen == int(np.argmin([c.proxy for c in found.candidates]))
    assert sum(c.chosen for c in found.candidates) == 1


def test_settings_whose_penalty_never_bites_share_one_run(monkeypatch, data):
    runs = []
    advance = Training.advance
    monkeypatch.setattr(Training, "advance", lambda t, *a: runs.append((t.sigma, t.penalty)) or advance(t, *a))
    found = search(data, sigmas=(0.02, 2.0), penalties=(0.001, 0.01, 0.1), max_epochs=2, n_jobs=1)
    assert [t.penalised for t in found.trainings] == [True] * 3 + [False] * 3
    assert sorted(runs) == [(0.02, 0.001), (0.02, 0.01), (0.02, 0.1), (2.0, 0.001)]
    assert [c.penalty for c in found.candidates] == [0.001, 0.01, 0.1] * 2
    assert len({c.proxy for c in found.candidates[3:]}) == 1
    alone = Training(SIZES, 2.0, 0.1, seed=0, max_epochs=2).advance(data, 2)
    # threads sum in another order
    assert alone.proxies == pytest.approx(found.trainings[5].proxies, rel=1e-6)


@pytest.mark.slow
def test_processes_change_no_number(data):
    runs = [search(data, sigmas=(0.3,), penalties=(0.01, 0.1), max_epochs=2, n_jobs=n) for n in (1, 2)]
    assert runs[0].candidates == runs[1].candidates


def test_hopeless_settings_are_stopped_and_never_the_leader(monkeypatch, data):
    monkeypatch.setattr("miscal.estimators.paper.grid.ROUND", 2)
    monkeypatch.setattr("miscal.estimators.paper.grid.HOPELESS", 0.0)
    found = search(data, sigmas=(0.2, 100.0), penalties=(0.001,), max_epochs=6, patience=6, n_jobs=1,
                   stop_hopeless=True)  # fmt: skip
    by_sigma = {c.sigma: c for c in found.candidates}
    assert by_sigma[100.0].stopped == "hopeless"  # it can only give the mean residual
    assert by_sigma[100.0].n_epochs == 2
    assert by_sigma[0.2].chosen
    assert by_sigma[0.2].stopped == "epochs"


def test_the_epoch_of_the_lowest_validation_loss_is_kept_beside_that_of_the_proxy(data):
    penalties = (0.0, 10.0)
    found = search(data, sigmas=(0.3,), penalties=penalties, max_epochs=5, patience=5, n_jobs=1, watch_loss=True)
    for penalty, training in zip(penalties, found.trainings, strict=True):
        # settings that share a run have the losses that they would have alone; threads sum in another order
        alone = Training(training.sizes, 0.3, penalty, seed=0, max_epochs=5, patience=5, watch_loss=True)
        alone.advance(data, 5)
        assert training.losses == pytest.approx(alone.losses, rel=1e-6)
        assert training.lowest_epoch == 1 + int(np.argmin(training.losses))
        phi = training.lowest()
        z, around = (phi.embed(torch.from_numpy(rows)).numpy() for rows in (data.X_val, data.X[data.bank]))
        delta, mass = smooth(z, around, data.residual[data.bank], 0.3, weight=data.weight[data.bank])
        loss = penalty * np.maximum(0, 20 - mass.astype(float)) ** 2 - delta.astype(float) ** 2
        assert min(training.losses) == pytest.approx(np.average(loss, weights=data.weight_val), rel=1e-4)


QUICK = {"sigmas": (0.1, 0.5), "lambdas": (0.001, 0.1), "max_epochs": 5}


def rows(n=2_000, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    f = rng.uniform(0.3, 0.7, n)
    y = (rng.random(n) < f + 0.25 * np.sign(X[:, 0])).astype(float)
    return Triples.of(X, confidence=f, correct=y)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


@pytest.fixture
def without_numpy(monkeypatch):
    """Compute on the CPU as on a GPU: by the formulas in torch."""
    monkeypatch.setattr(phi_module, "by_numpy", lambda device: False)


def test_auto_is_the_gpu_where_there_is_one(a_gpu):
    assert [device_of(name).type for name in ("auto", "cpu", "cuda")] == ["cuda", "cpu", "cuda"]


def test_without_a_gpu_auto_is_the_cpu_and_cuda_an_error_that_says_what_to_do(no_gpu):
    assert [device_of(name).type for name in ("auto", "cpu")] == ["cpu", "cpu"]
    for asked in (lambda: PaperField(device="cuda"), lambda: make_estimator("paper", device="cuda")):
        with pytest.raises(InputError, match=r"torch finds none here: .*device='cpu'"):
            asked()
    with pytest.raises(InputError, match="torch finds none here"):
        discover(rows(200), method="paper", device="cuda")


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_other_devices_are_refused(method):
    with pytest.raises(InputError, match="device must be one of auto, cpu, cuda; got 'gpu'"):
        MiscalibrationField(method, device="gpu").fit_triples(rows(200))


def test_the_default_method_has_no_use_for_a_gpu():
    assert (uses_device("paper"), uses_device("auto")) == (True, False)


def test_the_device_is_a_setting_of_the_field():
    field = MiscalibrationField("paper", device="cpu")
    assert clone(field).get_params()["device"] == "cpu"
    with pytest.raises(InputError, match="has no option 'device'"):
        make_estimator("paper", options={"device": "cpu"})


def test_folds_and_the_search_get_the_device(a_gpu, monkeypatch):
    field = PaperField(device="auto", **QUICK)
    assert (field.device_, field.for_folds().device_) == ("cuda", "cuda")
    asked = []
    monkeypatch.setattr(
        "miscal.estimators.paper.field.search", lambda data, **settings: asked.append(settings) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        field.fit(rows(200))
    assert asked[0]["device"] == "cuda"


def test_a_field_read_back_computes_on_the_cpu(a_gpu):
    field = PaperField(device="cpu", **{**QUICK, "max_epochs": 1}, n_jobs=1).fit(rows(200))
    assert built(PaperField, *state_of(field)).device_ == "cpu"


def training_data(n=1_300, n_val=200, d=3):
    data = rows(n + n_val, d)
    r, one = data.residual.astype(np.float32), np.random.default_rng(1).uniform(0.5, 2, n + n_val).astype(np.float32)
    bank = np.arange(0, n, 2)
    return TrainingData(data.X[:n], r[:n], one[:n], data.X[n:], r[n:], one[n:], bank)


def test_rows_are_moved_to_the_device_of_the_training():
    data, meta = training_data(), torch.device("meta")
    assert {tensor.device.type for tensor in data.tensors(meta)} == {"meta"}
    here = data.tensors(torch.device("cpu"))
    # on the CPU nothing is copied
    assert here[0].data_ptr() == data.X.ctypes.data
    training = Training(layer_sizes(3), 0.3, 0.01, seed=0, device="meta")
    assert {parameter.device.type for parameter in training.phi.parameters()} == {"meta"}
    assert Representation((3, 8, 4), seed=0).on("meta").embed(torch.zeros(9, 3)).device.type == "meta"


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
def test_kernel_and_average_in_torch_are_those_of_numpy(sigma):
    rng = np.random.default_rng(0)
    query, bank = (torch.nn.functional.normalize(torch.from_numpy(rng.normal(size=(n, 8)))).float() for n in (60, 90))
    query[:5] = bank[:5]
    values, weight = (torch.from_numpy(rng.random(90)).float() for _ in range(2))
    left, right = exponent_factors(query.numpy(), bank.numpy(), sigma)
    expected = weights_from_factors(left, right.T)
    np.testing.assert_allclose(kernel_weights(query, bank, sigma).numpy(), expected, rtol=2e-3, atol=1e-6)
    told, mass = smooth(query.numpy(), bank.numpy(), values.numpy(), sigma, weight=weight.numpy())
    found = average(query, bank, values, weight, sigma)
    np.testing.assert_allclose(found[0].numpy(), told, atol=2e-4)
    np.testing.assert_allclose(found[1].numpy(), mass, rtol=2e-3, atol=1e-6)


def test_far_rows_get_the_mean_of_the_bank_in_torch_too():
    bank, values = torch.tensor([[0.0], [1.0]]), torch.tensor([0.2, 0.4])
    far = torch.tensor([[1e4]])
    found, _ = average(far, bank, values, torch.tensor([3.0, 1.0]), sigma=0.5)
    assert found.item() == pytest.approx(0.25)


def test_training_in_torch_gives_the_proxies_of_numpy(without_numpy, monkeypatch):
    data = training_data()
    in_torch = Training(layer_sizes(3), 0.3, 0.05, seed=2, max_epochs=3).advance(data, 3)
    monkeypatch.setattr(phi_module, "by_numpy", lambda device: True)
    in_numpy = Training(layer_sizes(3), 0.3, 0.05, seed=2, max_epochs=3).advance(data, 3)
    np.testing.assert_allclose(in_torch.proxies, in_numpy.proxies, rtol=1e-5)
    assert in_torch.penalised == in_numpy.penalised


def test_fields_in_torch_and_in_numpy_agree(without_numpy, monkeypatch):
    data = rows()
    how = QUICK | {"sigmas": (0.5,), "max_epochs": 3, "n_jobs": 1, "device": "cpu"}
    in_torch = PaperField(**how).fit(data).estimate(data.X, data.confidence).delta
    monkeypatch.setattr(phi_module, "by_numpy", lambda device: True)
    in_numpy = PaperField(**how).fit(data).estimate(data.X, data.confidence).delta
    assert np.corrcoef(in_torch, in_numpy)[0, 1] >= 0.999


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("d", [5, 64])
def test_fields_of_cpu_and_gpu_agree(d):
    data = rows(4_000, d)
    on = {name: PaperField(**QUICK, n_jobs=1, device=name).fit(data) for name in ("cpu", "cuda")}
    assert on["cpu"].settings_["sigma"] == on["cuda"].settings_["sigma"]
    fields = [field.estimate(data.X, data.confidence).delta for field in on.values()]
    assert np.corrcoef(*fields)[0, 1] >= 0.999


def test_a_gpu_trains_one_setting_after_the_other(monkeypatch):
    asked = []

    class Parallel:
        def __init__(self, n_jobs, batch_size):
            asked.append(n_jobs)
            raise InterruptedError

    monkeypatch.setattr("miscal.estimators.paper.grid.joblib.Parallel", Parallel)
    for device in ("cpu", "meta"):
        with pytest.raises(InterruptedError):
            search(training_data(), sigmas=(0.1, 0.2), penalties=(0.1,), n_jobs=2, device=device)
    assert asked == [2, 1]


def test_a_gpu_that_is_too_small_is_told_in_words(monkeypatch):
    def advance(*arguments):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    monkeypatch.setattr(Training, "advance", advance)
    with pytest.raises(ResourceError, match=r"1,300 training rows of 3 columns: .*device='cpu'"):
        search(training_data(), sigmas=(0.1,), penalties=(0.1,), max_epochs=1, n_jobs=1)
