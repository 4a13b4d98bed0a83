"""Rows of which every format carries the same, and how each is written."""

import json

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl

N = 120


def frame(n=N):
    rng = np.random.default_rng(0)
    f = np.round(rng.uniform(size=n), 6)
    return pl.DataFrame(
        {
            "confidence": f,
            "correct": (rng.uniform(size=n) < f).astype(int),
            "x_1": np.round(rng.normal(size=n), 6),
            "x_2": np.arange(n),
            "text": [f'row {i}, said "so"\nand on é' for i in range(n)],
            "kind": ["a", "b", "c"] * (n // 3),
            "group": np.arange(n) // 2,
        }
    )


def write_csv(data, folder):
    data.write_csv(folder / "d.csv")
    return folder / "d.csv"


def write_tsv(data, folder):
    data.write_csv(folder / "d.tsv", separator="\t")
    return folder / "d.tsv"


def write_pandas_csv(data, folder):
    pd.DataFrame(data.to_dict(as_series=False)).assign(correct=lambda d: d.correct == 1).to_csv(
        folder / "p.csv", index=False
    )
    return folder / "p.csv"


def write_latin_csv(data, folder):
    (folder / "l.csv").write_bytes(data.write_csv().encode("latin-1"))
    return folder / "l.csv"


def write_bom_crlf_csv(data, folder):
    flat = data.with_columns(pl.col("text").str.replace("\n", " "))
    (folder / "b.csv").write_bytes(b"\xef\xbb\xbf" + flat.write_csv().replace("\n", "\r\n").encode())
    return folder / "b.csv"


def write_parquet(data, folder):
    data.write_parquet(folder / "d.parquet")
    return folder / "d.parquet"


def write_jsonl(data, folder):
    data.write_ndjson(folder / "d.jsonl")
    return folder / "d.jsonl"


def write_bom_blank_jsonl(data, folder):
    lines = [json.dumps(record) for record in data.to_dicts()]
    (folder / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    return folder / "b.jsonl"


def write_odd_name(data, folder):
    path = folder / "weïrd [name]* \U0001f600 & spaces.parquet"
    data.write_parquet(path)
    return path


def write_link(data, folder):
    (folder / "link.parquet").symlink_to(write_parquet(data, folder))
    return folder / "link.parquet"


FORMATS = {
    "parquet": write_parquet,
    "parquet, odd name": write_odd_name,
    "parquet, link": write_link,
    "csv": write_csv,
    "csv of pandas": write_pandas_csv,
    "csv with BOM and CRLF": write_bom_crlf_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "jsonl with BOM, CRLF and blank lines": write_bom_blank_jsonl,
    "polars": lambda data, folder: data,
    "polars lazy": lambda data, folder: data.lazy(),
    "pandas": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False), index=range(N, 0, -1)),
    "pandas nullable": lambda data, folder: pd.DataFrame(data.to_dict(as_series=False)).convert_dtypes(),
    "pyarrow": lambda data, folder: nw.from_native(data).to_arrow(),
    "pyarrow batch": lambda data, folder: nw.from_native(data).to_arrow().combine_chunks().to_batches()[0],
    "pyarrow stream": lambda data, folder: nw.from_native(data).to_arrow().to_reader(),
    "dictionary of arrays": lambda data, folder: {c: data[c].to_numpy() for c in data.columns},
    "dictionary of lists": lambda data, folder: data.to_dict(as_series=False),
}
