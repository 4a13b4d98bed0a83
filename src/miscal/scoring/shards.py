"""Shards: the numbers of one batch on disk, checksummed, whole or not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from miscal.base.cell_store import CellStore
from miscal.base.tables import read_parquet
from miscal.scoring.engine import BatchResult

_SCHEMA = {"row": pl.Int64, "log_probs": pl.List(pl.Float64), "response": pl.String, "error": pl.String}


class Shards(CellStore):
    """The shards of a run: cells with a file of rows (parquet) and one of hidden states (safetensors)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, (".parquet", ".safetensors"))

    def shard(self, index: int, ending: str) -> Path:
        """Return the place of a shard's file."""
        return self.path(f"{index:06}", ending)

    def is_done(self, index: int) -> bool:
        """Tell whether the shard is there and undamaged."""
        return self.find(f"{index:06}") is not None

    def write(self, index: int, result: BatchResult) -> None:
        """Put the numbers of a batch on disk; see `save`."""
        from safetensors.numpy import save_file

        files = {
            ".parquet": _table(result).write_parquet,
            ".safetensors": lambda path: save_file({"x": result.hidden}, path),
        }
        self.save(f"{index:06}", {}, files)

    def rows(self, indices: Sequence[int]) -> tuple[dict[int, np.ndarray], dict[int, str], dict[int, tuple[int, int]]]:
        """Return log-probabilities by row, reasons by failed row, and place (shard, position) of each hidden state."""
        log_probs, failed, places = {}, {}, {}
        for index in indices:
            table = read_parquet(self.shard(index, ".parquet"))
            good = table.filter(pl.col("error").is_null())
            for at, (row, values) in enumerate(zip(good["row"], good["log_probs"], strict=True)):
                log_probs[row] = values.to_numpy()
                places[row] = (index, at)
            bad = table.filter(pl.col("error").is_not_null())
            failed |= dict(zip(bad["row"].to_list(), bad["error"].to_list(), strict=True))
        return log_probs, failed, places

    def responses(self, indices: Sequence[int]) -> dict[int, str]:
        """Return what the model wrote, as JSON, by row."""
        tables = [read_parquet(self.shard(index, ".parquet"), ["row", "response"]) for index in indices]
        return dict(pl.concat(tables).drop_nulls().iter_rows()) if tables else {}

    def hidden(self, places: Sequence[tuple[int, int]], block: int = 4096) -> Iterator[np.ndarray]:
        """Yield the hidden states in the order of the places, a block of rows at a time."""
        from safetensors import safe_open

        for start in range(0, len(places), block):
            wanted = places[start : start + block]
            found: dict[int, np.ndarray] = {}
            for index in sorted({shard for shard, _ in wanted}):
                with safe_open(self.shard(index, ".safetensors"), "numpy") as file:
                    states = file.get_tensor("x")
                found |= {at: states[place] for at, (shard, place) in enumerate(wanted) if shard == index}
            yield np.stack([found[at] for at in range(len(wanted))])

    def largest(self, indices: Sequence[int]) -> float:
        """Return the largest absolute value of the hidden states of some shards; 0 where there are none."""
        from safetensors.numpy import load_file

        states = (load_file(self.shard(index, ".safetensors"))["x"] for index in indices)
        return max((float(np.abs(part).max()) for part in states if part.size), default=0.0)

    def width(self, index: int) -> int:
        """Return the size of the hidden state."""
        from safetensors import safe_open

        with safe_open(self.shard(index, ".safetensors"), "numpy") as file:
            return file.get_slice("x").get_shape()[1]


def _table(result: BatchResult) -> pl.DataFrame:
    responses = result.responses or (None,) * len(result.rows)
    rows = [
        {"row": row, "log_probs": values.tolist(), "response": response}
        for row, values, response in zip(result.rows, result.log_probs, responses, strict=True)
    ]
    rows += [{"row": row, "log_probs": [], "error": reason} for row, reason in sorted(result.failed.items())]
    return pl.DataFrame(rows, schema=_SCHEMA)
