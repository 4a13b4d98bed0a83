"""The interactive map, and its drawing for print."""

from typing import Any

from miscal.report.map_data import map_payload, static_shades
from miscal.report.source import Source

NAME = "atlas"
TITLE = "Map of the inputs"
SHORT = "Map"


def context(source: Source) -> dict[str, Any]:
    """Return the payload for the page's program, the static panes, and how many rows of how many are shown."""
    payload = map_payload(source)
    shown, total = payload["n"], (source.summary["map"] or {}).get("n_total") or source.summary["n"]
    return {
        "payload": payload,
        "panes": static_shades(payload) if shown else [],
        "shown": shown,
        "total": total,
        "has_text": payload["text"] is not None,
        "has_meta": bool(payload["meta"]),
        "left_off": payload["left_off"],
        "limit": payload["limit"],
        "redacted": source.redact_text,
    }
