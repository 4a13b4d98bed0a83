"""Cards of the subregimes: what they are called, how far off, what they have in common, examples."""

from typing import Any

from miscal.report.drawing import Scale
from miscal.report.map_data import MAX_NAME
from miscal.report.panels.regimes import LABELS
from miscal.report.source import Source
from miscal.report.words import clean, finite, short

NAME = "subregimes"
TITLE = "What the regimes have in common"
SHORT = "Subregimes"
MAX_CARDS = 40
MAX_KEYWORDS = 10
MAX_ENRICHED = 6
MAX_EXEMPLARS = 5
MAX_TEXT = 300


def context(source: Source) -> dict[str, Any]:
    """Cards in the order of the summary, drawn on one common axis of residuals."""
    found = source.summary["subregimes"]
    cards = found[:MAX_CARDS]
    exemplars = _exemplar_table(source, cards)
    reach = _reach(cards)
    axis = Scale(-reach, reach, 6.0, 234.0)
    return {
        "cards": [_card(card, axis, exemplars) for card in cards],
        "more": len(found) - len(cards),
        "reach": reach,
        "zero": axis(0.0),
        "redacted": source.redact_text,
    }


def _reach(cards: list[dict[str, Any]]) -> float:
    """Half the width of the common axis: enough for every interval."""
    ends = [0.1]
    for card in cards:
        residual = card["residual"]
        ends += [abs(v) for v in (residual["interval"] or []) if finite(v) is not None]
        ends += [abs(v) for v in [finite(residual["value"])] if v is not None]
    return max(ends)


def _card(card: dict[str, Any], axis: Scale, exemplars: dict[int, dict[str, Any]]) -> dict[str, Any]:
    residual = card["residual"]
    ends = [finite(v) for v in (residual["interval"] or [])]
    value = finite(residual["value"])
    return {
        "name": card["name"],
        "id": clean(card["name"])[:MAX_NAME],
        "parent": card["parent"] if card["parent"] in LABELS else "good",
        "parent_label": LABELS.get(card["parent"], card["parent"]),
        "n": card["n"],
        "share": card["share"],
        "accuracy": card["accuracy"],
        "confidence": card["confidence"],
        "confirmed": card["confirmed"],
        "residual": residual,
        "p_value": card["p_value"],
        "whisker": [axis.inside(v) for v in ends] if len(ends) == 2 and None not in ends else None,
        "dot": None if value is None else axis.inside(value),
        "keywords": [short(word, 40) for word in card["keywords"][:MAX_KEYWORDS]],
        "enriched": [_enriched(entry) for entry in card["metadata"][:MAX_ENRICHED]],
        "exemplars": [exemplars[row] for row in card["exemplars"][:MAX_EXEMPLARS] if row in exemplars],
    }


def _enriched(entry: dict[str, Any]) -> dict[str, Any]:
    ratio = finite(entry.get("odds_ratio"))
    return {
        "words": short(f"{entry.get('column', '')} {entry.get('value', '')}", 120),
        "share": finite(entry.get("share")),
        "share_overall": finite(entry.get("share_overall")),
        "odds_ratio": None if ratio is None else (f"{ratio:.1f}" if ratio < 100 else "over 100"),
        "p_value": finite(entry.get("p_value")),
    }


def _exemplar_table(source: Source, cards: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Rows named as exemplars: numbers from the field, texts from the map."""
    wanted = {row for card in cards for row in card["exemplars"][:MAX_EXEMPLARS]}
    texts = _map_texts(source, wanted)
    return {row: _exemplar(values, texts.get(row)) for row, values in _rows(source.field, wanted).items()}


def _map_texts(source: Source, wanted: set[int]) -> dict[int, Any]:
    if "text" not in source.map.columns:
        return {}
    return {row: values["text"] for row, values in _rows(source.map, wanted).items()}


def _rows(table: Any, wanted: set[int]) -> dict[int, dict[str, Any]]:
    import polars as pl

    return {values["row"]: values for values in table.filter(pl.col("row").is_in(list(wanted))).iter_rows(named=True)}


def _exemplar(values: dict[str, Any], text: Any) -> dict[str, Any]:
    return {
        "row": values["row"],
        "text": short(" ".join(clean(text).split()), MAX_TEXT) if text else None,
        "confidence": values["confidence"],
        "correct": None if values["correct"] is None else bool(values["correct"]),
        "delta": values["delta"],
    }
