"""Embeddings in files beside the data: their types and shapes, and what memory cannot hold."""

import os
import resource

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import FileError, InputError, MissingColumn, ResourceError, TrustError
from miscal.data.readers import source
from miscal.data.readers.read import read_triples

from .formats import N, frame


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_embeddings_of_every_type_become_float32(dtype, suffix, tmp_path):
    X = np.random.default_rng(1).integers(-8, 8, size=(N, 4)).astype(dtype)
    path = tmp_path / f"e{suffix}"
    np.save(path, X) if suffix == ".npy" else save_file({"only": X}, path)
    got = read_triples(frame(), embeddings=path, where="x_2 >= 10")
    np.testing.assert_array_equal(got.X, X[10:].astype(np.float32))
    assert got.row[0] == 10
    assert got.X.dtype == np.float32


def test_bfloat16_embeddings(tmp_path):
    import torch
    from safetensors.torch import save_file as save_torch

    X = torch.randint(-8, 8, (N, 3), generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    save_torch({"x": X}, tmp_path / "e.safetensors")
    np.testing.assert_array_equal(read_triples(frame(), embeddings=tmp_path / "e.safetensors").X, X.float().numpy())
    np.testing.assert_array_equal(read_triples(frame(), embeddings=X).X, X.float().numpy())


def test_embeddings_must_match_the_data_before_the_condition(tmp_path):
    for n in (0, 1, N - 1, N + 1):
        with pytest.raises(InputError, match=rf"the data have {N} rows, the embeddings have shape \({n}, 2\)|0 sample"):
            read_triples(frame(), embeddings=np.zeros((n, 2)), where="x_2 < 1000")


def test_python_objects_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "pwned"), "w"))

    np.save(tmp_path / "e.npy", np.array([[Evil()]] * N, dtype=object), allow_pickle=True)
    with pytest.raises(TrustError, match="Python objects"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")
    assert not (tmp_path / "pwned").exists()


def test_embeddings_of_other_shapes_and_names(tmp_path):
    np.save(tmp_path / "e.npy", np.zeros(N))
    with pytest.raises(InputError, match=r"shape \(n, d\); its shape is \(120,\)"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")
    save_file({"a": np.zeros((N, 2)), "b": np.zeros((N, 2))}, tmp_path / "e.safetensors")
    with pytest.raises(MissingColumn, match=r"tensor 'x'; it holds \['a', 'b'\]"):
        read_triples(frame(), embeddings=tmp_path / "e.safetensors")
    np.savez(tmp_path / "e.npz", x=np.zeros((N, 2)))
    with pytest.raises(FileError, match=r"\.npy or \.safetensors"):
        read_triples(frame(), embeddings=tmp_path / "e.npz")


def test_what_memory_cannot_hold_is_refused_before_reading(tmp_path, monkeypatch):
    pl.DataFrame(
        {"confidence": pl.repeat(0.5, 2_000_000, eager=True), "correct": pl.repeat(1, 2_000_000, eager=True)}
    ).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 100_000
    np.save(tmp_path / "e.npy", np.zeros((1000, 1000), dtype=np.float32))
    monkeypatch.setattr(source, "memory_limit", lambda: 10**6)
    with pytest.raises(ResourceError, match="2000000 rows"):
        read_triples(tmp_path / "bomb.parquet", embeddings=np.zeros((1, 1)))
    with pytest.raises(ResourceError, match="1000 rows of about 4000 bytes"):
        read_triples(frame(), embeddings=tmp_path / "e.npy")


def test_the_memory_limit_is_that_of_the_process_where_it_is_the_least(monkeypatch):
    of_the_machine = source.memory_limit()
    assert 10**8 < of_the_machine <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(source, "_address_space", lambda: 4 * 10**9)
    for soft, left in ((4 * 10**9 + 10**7, 10**7), (10**7, 0)):
        limits = (soft, resource.RLIM_INFINITY)
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=limits: limits)
        assert source.memory_limit() == left
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    assert source.memory_limit() >= of_the_machine
