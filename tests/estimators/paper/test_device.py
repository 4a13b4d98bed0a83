"""Where phi is trained: names of devices, the formulas in torch against numpy's, and both devices on the same data."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from miscal.base.errors import InputError, ResourceError
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.kernel import exponent_factors, smooth, weights_from_factors
from miscal.estimators.paper import phi as phi_module
from miscal.estimators.paper.device import average, device_of, kernel_weights
from miscal.estimators.paper.field import PaperField
from miscal.estimators.paper.grid import search
from miscal.estimators.paper.phi import Representation, Training, TrainingData, layer_sizes
from miscal.estimators.registry import make_estimator, uses_device

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
    assert PaperField.from_state(*field.state()).device_ == "cpu"


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
    in_torch = PaperField(**QUICK, n_jobs=1, device="cpu").fit(data).estimate(data.X, data.confidence).delta
    monkeypatch.setattr(phi_module, "by_numpy", lambda device: True)
    in_numpy = PaperField(**QUICK, n_jobs=1, device="cpu").fit(data).estimate(data.X, data.confidence).delta
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
