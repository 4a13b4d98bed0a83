"""The tutorial reads the report of `miscal demo`: what it quotes is what that command prints and writes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from miscal.cli import main

from .read_page import Page
from .visits import CHROMIUM

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
NUMBER = r"[+\N{MINUS SIGN}]?\d[\d,]*(?:\.\d+)?"
ABOUT_THE_DEMO = {"135"}
"""Numbers that describe the model, which the run does not know."""


def numbers(text: str) -> set[str]:
    return {number.strip(",").lstrip("+\N{MINUS SIGN}") for number in re.findall(NUMBER, text)}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_tutorial_quotes_the_demo(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    printed = capsys.readouterr().out
    page = Page((tmp_path / "demo" / "report.html").read_text(encoding="utf-8")).visible
    check_quotes(TUTORIAL.read_text(encoding="utf-8"), printed, page)


def check_quotes(tutorial: str, printed: str, page: str) -> None:
    (quoted,) = re.findall(r"```text\n(.*?)```", tutorial, re.DOTALL)
    assert quoted in printed
    assert numbers(tutorial) - numbers(printed) - numbers(page) <= ABOUT_THE_DEMO


def test_a_number_that_the_demo_does_not_have_is_noticed():
    with pytest.raises(AssertionError):
        check_quotes("```text\nx\n```\nat least 9.9 points", "x\n", "at least 3.7 points")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(3600)
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install it or set MISCAL_CHROMIUM")
def test_the_pictures_are_what_the_command_draws(tmp_path):
    pytest.importorskip("PIL")
    subprocess.run([sys.executable, ROOT / "scripts" / "pictures.py", tmp_path], check=True, timeout=1800)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in (ROOT / "docs" / "images").iterdir())
    for name in names:
        kept, drawn = (pixels(folder / name) for folder in (ROOT / "docs" / "images", tmp_path))
        assert kept.shape == drawn.shape
        assert differ(kept, drawn) < 6  # fonts differ between machines
        assert differ(kept, np.roll(drawn, 20, axis=0)) > 6


def pixels(path: Path) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(path).convert("L"), dtype=float)


def differ(left: np.ndarray, right: np.ndarray) -> float:
    """Mean difference of grey, from 0 to 255."""
    return float(np.abs(left - right).mean())
