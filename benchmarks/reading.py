"""Measure what a reader meets on a page before anything is opened: words, screens, pictures; and lines on a terminal.

    python benchmarks/reading.py RUN_DIR_OR_PAGE ...

Each argument is a folder with a page of miscal (a run, a comparison, a study) or a page. Chromium draws it at 1280 x
800 and at 390 x 844. Words of the first screen are those whose letters lie on it, labels of axes among them.
`terminal` is what `miscal show` prints of a run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
PAGES = ("report.html", "compare.html", "monitor.html", "index.html")
MEASURE = """
(height) => {
  const seen = [], first = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!node.data.trim() || holder.closest("script, style, title, .visually-hidden, .skip")) continue;
    if (!holder.checkVisibility({ checkVisibilityCSS: true })) continue;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const words = node.data.trim().split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word));
    seen.push(...words);
    if (box.top < height) first.push(...words);
  }
  const pictures = [...document.querySelectorAll("svg, canvas")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width >= 100 && box.height >= 100 && box.top < height && one.checkVisibility();
  });
  const forests = [...document.querySelectorAll("table.forest")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.height && box.top < height && one.checkVisibility();
  });
  return {
    first: first.length,
    words: seen.length,
    screens: document.documentElement.scrollHeight / height,
    pictures: pictures.length + forests.length,
  };
}
"""


def page_of(path: Path) -> Path:
    """Return the page that a path names."""
    if path.is_file():
        return path
    for name in PAGES:
        if (path / name).exists():
            return path / name
    raise SystemExit(f"{path}: there is none of {', '.join(PAGES)}")


def terminal(path: Path) -> tuple[int, int] | None:
    """Return how many lines `miscal show` prints of a run, and its longest line; None of what is no run."""
    if not (path / "report.html").exists():
        return None
    shown = subprocess.run(
        [sys.executable, "-m", "miscal", "show", str(path)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return len(shown), max(map(len, shown))


def main() -> None:
    """Print a row for each page and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    asked = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("MISCAL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    heads = (
        "page",
        "screen",
        "words first",
        "pictures",
        "words",
        "screens",
        "MB",
        "drawn s",
        "terminal lines",
        "widest",
    )
    print("".join(f"{head:>15}" for head in heads))
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path in asked.paths:
            page, lines = page_of(path), terminal(path)
            for name, (width, height) in SIZES.items():
                tab = browser.new_page(viewport={"width": width, "height": height})
                start = time.perf_counter()
                tab.goto(page.resolve().as_uri())
                drawn = time.perf_counter() - start
                found = tab.evaluate(MEASURE, height)
                tab.close()
                row = (path.name[-14:], name, found["first"], found["pictures"], found["words"])
                size = page.stat().st_size / 1e6
                row += (f"{found['screens']:.1f}", f"{size:.2f}", f"{drawn:.2f}", *(lines or ("", "")))
                print("".join(f"{one!s:>15}" for one in row))
        browser.close()


if __name__ == "__main__":
    main()
