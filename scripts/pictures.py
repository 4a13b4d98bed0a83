"""Write every picture of docs/images, and the reports that the site shows: `python scripts/pictures.py`.

The pictures are the curves of the front page and the first screen of a report, taken by Chromium. The build of the site
writes the reports alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
IMAGES, EXTRA = ROOT / "docs" / "images", ROOT / "docs" / "extra"
EXAMPLES = {"demo": "questions", "flights": "flights"}
"""Name of the report on the site, and of the packaged example."""

WIDTH, HEIGHT, SCALE = 1280, 720, 1.5
COLOURS = 128


def write_report(name: str, target: Path) -> None:
    """Run miscal on a packaged example, as `miscal demo` does, and keep the page."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        asked = [sys.executable, "-m", "miscal", "demo", "--example", EXAMPLES[name], "--out", str(run)]
        subprocess.run(asked, check=True, capture_output=True)  # noqa: S603
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / "report.html", target)


def write_reports(*, run: bool) -> None:
    """Write the reports of the site, side by side; where nothing is to be run, pages that say so."""
    targets = {name: EXTRA / "reports" / f"{name}.html" for name in EXAMPLES}
    if run:
        with ThreadPoolExecutor() as pool:
            list(pool.map(write_report, targets, targets.values()))
        return
    for name, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"<!doctype html><title>{name}</title><p>This site was built without running examples.</p>\n")


def draw_curves(folder: Path) -> None:
    """Draw delays of flights after a recalibration by the probability alone: all flights, and two kinds of weather."""
    import matplotlib.pyplot as plt
    import numpy as np
    import polars as pl
    from scipy.special import logit
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    from miscal import ReliabilityDisplay
    from miscal.data import flights

    rows = pl.read_parquet(flights.path())
    late, risk = rows["delayed"].to_numpy().astype(int), rows["predicted_delay_risk"].to_numpy()
    curve = make_pipeline(SplineTransformer(n_knots=4), LogisticRegression(C=100))
    days = {"cv": GroupKFold(10), "groups": rows["departure"].dt.ordinal_day().to_numpy()}
    straight = cross_val_predict(curve, logit(risk)[:, None], late, method="predict_proba", **days)[:, 1]
    humid, fair = rows["humid"].to_numpy() >= 71, rows["pressure"].to_numpy() >= 1016.5
    weather = np.where(humid, "humid, low pressure", "dry, high pressure")
    # few flights have larger or smaller risks
    most = (straight >= np.quantile(straight, 0.01)) & (straight <= np.quantile(straight, 0.99))
    drawn = {
        "curve_all.png": (most, {"name": "all flights"}),
        "curve_groups.png": (most & (humid != fair), {"by": weather[most & (humid != fair)]}),
    }
    for name, (kept, how) in drawn.items():
        figure, axes = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
        ReliabilityDisplay.from_predictions(late[kept], straight[kept], ax=axes, **how)
        axes.set(xlim=(0, 0.7), ylim=(0, 0.7))
        axes.legend(loc="lower left", bbox_to_anchor=(-0.05, 1), frameon=False, fontsize="small")
        figure.savefig(folder / name, dpi=130)
        plt.close(figure)


def draw_first_screen(page: Path, target: Path, chromium: str) -> None:
    """Take a picture of what a report shows before anything is pressed."""
    from PIL import Image

    with TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        subprocess.run(  # noqa: S603
            [
                chromium, "--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={folder}/profile",
                f"--window-size={WIDTH},{HEIGHT}", f"--force-device-scale-factor={SCALE}", f"--screenshot={shot}",
                page.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )  # fmt: skip
        Image.open(shot).convert("RGB").quantize(COLOURS).save(target, optimize=True)


def main() -> int:
    """Write the pictures into docs/images, or into the folder that is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    chromium = os.environ.get("MISCAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("report.png is not drawn: no chromium; install it or set MISCAL_CHROMIUM", file=sys.stderr)
        return 1
    with TemporaryDirectory() as place:
        page = Path(place) / "report.html"
        write_report("demo", page)
        folder.mkdir(parents=True, exist_ok=True)
        draw_curves(folder)
        draw_first_screen(page, folder / "report.png", chromium)
    print(*sorted(folder.glob("*.png")), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
