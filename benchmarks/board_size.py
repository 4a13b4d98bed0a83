"""How large is the first page of a study of many models, and how long does it take to draw and to open?

    python benchmarks/board_size.py [--csv benchmarks/notes]

Made-up tables, in the size of real ones: 4 models on one set of 18 groups; 48 models on one set of 57 groups, with
2,256 tries of corrections on other models; 500 pairs of 50 models on ten sets of 57 groups, with 24,500 tries.
Seconds to draw are those of `miscal.study.pages.write_pages`; seconds to open are from asking for the page to its
`load` event in headless Chromium (`MISCAL_CHROMIUM`, or what is on the path), the median of three; without a browser
they are left out. `wider than the screen` counts the pages at 1280 and at 390 pixels, and on paper, that have to be
scrolled sideways as a whole.

Target: the page has less than 10 MB, opens in less than 3 s, and is nowhere wider than the screen.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from _script import options, show, target
from miscal.study.matrix import adjust
from miscal.study.measures.models import RANKED
from miscal.study.pages import write_pages
from miscal.study.tables import TABLES, frame

CASES = {"4 models, one set": (4, 1, 18), "48 models, one set": (48, 1, 57), "500 pairs, ten sets": (50, 10, 57)}
MOST_BYTES, MOST_SECONDS = 10_000_000, 3.0
SCREENS = (1280, 390)
TIMES = 3
UPRIGHT, ACROSS = 680, 1030
"""Widths of A4 without its margins, at 96 dots an inch; the matrix and the table of pairs lie across."""
ROWS = 6_000


def study_tables(models: int, datasets: int, groups: int, *, seed: int = 0) -> dict[str, list[dict[str, Any]]]:
    """Make the tables that the first page is drawn from: rows by the name of their table."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for k in range(datasets):
        pairs = [_named(k, j) for j in range(models)]
        for pair in pairs:
            _of_pair(rows, rng, pair)
            rows["groups"] += [_group(rng, pair, g) for g in range(groups)]
        for measure in RANKED:
            _ranks(rows["rankings"], rng, pairs, {"measure": measure, "common": True})
        for g in range(groups):
            _ranks(rows["group_rankings"], rng, pairs, _topic(g))
        for one, other in permutations(pairs, 2):
            rows["transfer_shifts"].append(_try(rng, one, other))
    return rows


def _named(dataset: int, model: int) -> dict[str, Any]:
    name = f"vendor-{model % 9}/model-{model}-instruct"
    return {"pair": f"set-{dataset}.model-{model}", "dataset": f"benchmark {dataset}", "model": name, "method": "auto"}


def _topic(g: int) -> dict[str, str]:
    return {"column": "subject", "value": f"a subject of some length {g}"}


def _ends(value: float, half: float, name: str = "") -> dict[str, float]:
    return {f"{name}low": value - half, f"{name}high": value + half}


def _of_pair(rows: dict[str, list], rng: np.random.Generator, pair: dict[str, Any]) -> None:
    residual, saved = rng.normal(-0.05, 0.05), abs(rng.normal(0.03, 0.02))
    rows["pairs"].append(
        dict.fromkeys(TABLES["pairs"].columns) | pair | {
            "geometry": "learned", "outcome": "answer", "n": ROWS, "n_test": ROWS, "accuracy": 0.7,
            "confidence": 0.7 - residual, "smece": abs(residual), "epsilon": 0.05, "log_loss": 0.6,
            "log_loss_saved": saved, **_ends(saved, 0.01, "log_loss_saved_"), "detectable": 0.09,
            "detectable_share": 0.1, "rows_for_5_points": 19_000, "n_findings": 7, "finding": "subject = law",
        }
    )  # fmt: skip
    measured = {"measure": "residual", "n": ROWS, "value": residual}
    rows["board"].append(pair | measured | _ends(residual, 0.012))


def _group(rng: np.random.Generator, pair: dict[str, Any], g: int) -> dict[str, Any]:
    hidden = rng.normal(0.05 * np.sin(g), 0.05)
    sizes = {"residual": hidden, **_ends(hidden, 0.04, "residual_"), "hidden": hidden, **_ends(hidden, 0.04)}
    left = {"after": hidden / 8, **_ends(hidden / 8, 0.04, "after_")}
    told = 1 + g % 7 if abs(hidden) > 0.06 else None
    tested = {"p_value": float(np.exp(-((hidden / 0.02) ** 2))), "p_adjusted": None, "finding": told}
    return pair | _topic(g) | {"bin": False, "n": 100} | sizes | left | tested


def _ranks(rows: list, rng: np.random.Generator, pairs: list[dict[str, Any]], more: dict[str, Any]) -> None:
    for place, k in enumerate(rng.permutation(len(pairs))):
        best, worst = max(1, place - 3), min(len(pairs), place + 4)
        size = {"value": 0.1 + place / 100} if "measure" in more else {"residual": 0.01 + place / 100}
        ends = _ends(size["value"], 0.03) if "measure" in more else {}
        rows.append(pairs[k] | {"n": ROWS, "best_rank": best, "worst_rank": worst} | ends | size | more)


def _try(rng: np.random.Generator, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    saved = rng.normal(0.01, 0.02)
    losses = {"log_loss_raw": 0.6, "log_loss_visible": 0.58, "log_loss_own": 0.55, "log_loss_transferred": 0.58 - saved}
    known = {"dataset": one["dataset"], "method": "auto", "pair_from": one["pair"], "pair_to": other["pair"]}
    return known | {"n": ROWS, "saved": saved, **_ends(saved, 0.02, "saved_")} | losses


def saved_study(out: Path, models: int, datasets: int, groups: int) -> Path:
    """Leave the tables as a study does, with empty reports that links can lead to."""
    rows = study_tables(models, datasets, groups)
    (out / "tables").mkdir(parents=True)
    for name, some in rows.items():
        table = frame(name, some)
        (adjust(table) if name == "groups" else table).write_parquet(out / "tables" / f"{name}.parquet")
    for pair in {row["pair"] for row in rows["pairs"]}:
        place = out / "pairs" / pair / "auto"
        place.mkdir(parents=True)
        (place / "report.html").write_text("")
    return out


def opened(page: Path) -> tuple[float, list[str]] | None:
    """Open a page in a browser, as :func:`looked_at` does; None where there is no browser."""
    chromium = os.environ.get("MISCAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        found = looked_at(browser, page)
        browser.close()
    return found


def looked_at(browser: Any, page: Path) -> tuple[float, list[str]]:
    """Return the median seconds to the load event and the first layout, and where the page is too wide."""
    seconds = []
    for _ in range(TIMES):
        view = browser.new_page(viewport={"width": SCREENS[0], "height": 844})
        start = time.monotonic()
        view.goto(page.as_uri(), wait_until="load")
        view.evaluate("document.documentElement.scrollHeight")
        seconds.append(time.monotonic() - start)
    is_wide = "document.documentElement.scrollWidth > window.innerWidth"
    wide = []
    for width in SCREENS:
        view.set_viewport_size({"width": width, "height": 844})
        wide += [f"{width} px"] if view.evaluate(is_wide) else []
    view.emulate_media(media="print")
    for width, elsewhere in ((ACROSS, "#answers"), (UPRIGHT, "#matrix, #pairs")):
        view.evaluate(f"document.querySelectorAll('{elsewhere}').forEach((one) => (one.hidden = true))")
        view.set_viewport_size({"width": width, "height": 844})
        wide += ["paper"] if view.evaluate(is_wide) else []
        view.evaluate(f"document.querySelectorAll('{elsewhere}').forEach((one) => (one.hidden = false))")
    return float(np.median(seconds)), wide


def main() -> None:
    """Measure, show, and compare with the target."""
    args = options(__doc__).parse_args()
    rows, missed = [], []
    for name, size in CASES.items():
        with tempfile.TemporaryDirectory() as place:
            out = saved_study(Path(place) / "study", *size)
            start = time.monotonic()
            page = write_pages(out)
            drawn, n_bytes, seen = time.monotonic() - start, page.stat().st_size, opened(page)
        seconds, wide = seen or (float("nan"), [])
        rows.append([name, f"{n_bytes / 1e6:.2f}", f"{drawn:.1f}", "" if seen is None else f"{seconds:.2f}",
                     ", ".join(wide) or "nowhere"])  # fmt: skip
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        if n_bytes > MOST_BYTES or seconds > MOST_SECONDS or wide:
            missed.append(name)
    head = ["study", "page, MB", "seconds to draw", "seconds to open", "wider than the screen"]
    show(args, "board_size", "the first page of a study", head, rows)
    sys.exit(
        not target(f"small, quick and no wider than the screen ({'; '.join(missed) or 'no exception'})", not missed)
    )


if __name__ == "__main__":
    main()
