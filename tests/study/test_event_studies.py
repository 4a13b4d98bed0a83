"""A study of events speaks of risks and event rates alone: tables, figures, pages and terminal."""

import numpy as np
import polars as pl
import pytest
import yaml
from matplotlib.text import Text

from miscal.cli import main
from miscal.study.claims import claims
from miscal.study.drawing import look
from miscal.study.pages import FIGURES
from miscal.study.tables import ANSWERS, BOTH, EVENTS, read_tables, vocabulary_of

from ..answer_words import told, words_of_answers
from .made_tables import papers_pairs, tables

pytestmark = pytest.mark.whole


def risks(model, n=240):
    """Risks of two models on the same patients: too low on ward A, where most events happen."""
    rng = np.random.default_rng(7)
    ward, age = rng.choice(["A", "B"], n), rng.normal(60, 10, n).round(1)
    chance = np.where(ward == "A", 0.12, 0.02)
    happened = rng.random(n) < chance
    risk = (0.06 * np.exp(np.random.default_rng(len(model)).normal(0, 0.4, n))).clip(0.001, 0.9).round(5)
    ids, status = [f"p{row}" for row in range(n)], np.where(happened, "infected", "well")
    return pl.DataFrame({"id": ids, "risk": risk, "status": status, "ward": ward, "age": age})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    for model in ("old", "newer"):
        risks(model).write_csv(folder / f"{model}.csv")
    plan = {
        "evidence": "all",
        "pairs": [{
            "dataset": "wards", "outcome": "event", "data": f"{folder}/{{model}}.csv", "confidence": "risk",
            "correct": "status", "positive": "infected", "metadata": "ward", "features": "age,ward",
            "each": [{"model": "old"}, {"model": "newer"}],
        }],
    }  # fmt: skip
    (folder / "plan.yaml").write_text(yaml.safe_dump(plan))
    return folder


def test_a_study_of_events_has_no_word_of_answers(finished, capsys):
    assert main(["study", str(finished / "plan.yaml"), "--out", str(finished / "out")]) == 0
    printed = capsys.readouterr()
    assert words_of_answers(printed.out + printed.err) == []
    pages = sorted((finished / "out").rglob("*.html"))
    # the study and the two pairs
    assert len(pages) == 3
    for page in pages:
        text = told(page.read_text())
        assert words_of_answers(text) == [], page
        assert "event rate" in text.lower()
        assert "predicted risk" in text.lower()
    # the band of a run is taken, which is narrower where risks are low
    pairs = read_tables(finished / "out")["pairs"]
    assert pairs["outcome"].to_list() == ["event", "event"]
    assert pairs["epsilon"].to_numpy() == pytest.approx(pairs["confidence"].to_numpy() / 2, rel=0.05)
    assert words_of_answers(" ".join(claim["says"] for claim in claims(read_tables(finished / "out"), "auto"))) == []


@pytest.fixture(scope="module")
def of_events():
    made = tables(papers_pairs(9), seed=2)
    return made | {"pairs": made["pairs"].with_columns(outcome=pl.lit("event"))}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_no_figure_of_events_has_a_word_of_answers(figure, of_events):
    with look():
        drawn = dict(figure.draw(of_events))
    assert drawn
    written = {text.get_text() for one in drawn.values() for text in one.findobj(Text)}
    words = vocabulary_of(of_events["pairs"])
    told_of = [text.format_map(words) for text in (figure.title, figure.lesson)]
    assert words_of_answers(" | ".join([*written, *told_of])) == []


def test_every_study_has_its_words():
    outcomes = {"answer": ANSWERS, "event": EVENTS}
    for outcome, words in outcomes.items():
        assert vocabulary_of(pl.DataFrame({"outcome": [outcome] * 2})) == words
    assert vocabulary_of(pl.DataFrame({"outcome": list(outcomes)})) == BOTH
    assert vocabulary_of(pl.DataFrame({"outcome": []}, schema={"outcome": pl.String})) == ANSWERS
