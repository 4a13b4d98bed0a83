"""Write the worlds of planted.yaml: sets whose true field is known, as two made-up models would answer them.

    python examples/studies/planted_worlds.py WORLDS
    miscal study examples/studies/planted.yaml --out study --set WORLDS=WORLDS

Every world is a parquet file with the columns of `miscal discover`, and `true_delta`, which nothing but a reader may
look at. Both models see the same questions: one is wrong about its confidence where the other is, by half as much.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from miscal.evidence.power import planted
from miscal.study.synthetic.worlds import World, calibrated, visible_only

SIZES = {"small": 1.0, "large": 0.5}
"""Models, and what part of the miscalibration each has."""


def write(name: str, world: World, folder: Path, seed: int) -> None:
    """Write a world as each model answers it."""
    inputs = pl.DataFrame(world.X, schema=[f"x_{column}" for column in range(world.X.shape[1])])
    for number, (model, part) in enumerate(SIZES.items()):
        rng = np.random.default_rng((seed, number))
        chance = world.confidence + part * world.delta
        table = inputs.with_columns(
            id=pl.Series([f"{name}-{row}" for row in range(len(world))]),
            confidence=world.confidence,
            correct=pl.Series((rng.random(len(world)) < chance).astype(int)),
            true_delta=part * world.delta,
            topic=pl.Series(["none"] * len(world) if world.regime is None else world.regime.astype(str)),
        )
        table.write_parquet(folder / f"{name}.{model}.parquet")


def main() -> None:
    """Write the three worlds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    n, seed = asked.rows, asked.seed
    write("planted", planted(n, 32, random_state=seed), asked.folder, seed)
    write("visible", visible_only(n, random_state=seed), asked.folder, seed)
    write("calibrated", calibrated(n, random_state=seed), asked.folder, seed)


if __name__ == "__main__":
    main()
