"""The interactive map, and its drawing for print."""

from dataclasses import dataclass
from typing import Any

from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.report import legend
from miscal.report.map_data import map_payload, static_panes
from miscal.report.panel import Panel
from miscal.report.source import Source

NOTHING_SELECTED = (
    "No rows are selected. To select some, drag across either pane, click a category of the legend or search the texts."
)

TEMPLATE = """
<script type="application/json" id="map-data">{{ view.payload | embed }}</script>
{% if not view.shown %}
<p class="empty">There is no map, because the run left no rows to show.</p>
{% else %}
<p class="lead">Every point is a row. In the learned geometry, rows lie close together if the model's errors on them are
alike; among the raw inputs, if the inputs themselves are alike. Only closeness has a meaning: the axes have no unit.
{% if view.shown < view.total %}
The map shows a sample of {{ view.shown | count }} of {{ view.total | count }} rows.
{% else %}
The map shows all {{ view.total | count }} rows.
{% endif %}
{% if not view.structure %}
No local structure is claimed{{ words.kind }}; the colours come from fits that have not seen the row, in which some can
remain.
{% endif %}
</p>
<div id="map-live">
<p class="how">Point at a row to read it. Drag in either pane to select rows; hold Shift to add to the selection, or Alt
to remove from it. With the keyboard, the arrow keys move from row to row and Enter selects. On a touch screen, tap a
row to read it, or choose Box or Lasso and drag to select.</p>
<div class="toolbar">
<label>Colour by <select id="colour"></select></label>
<div class="tools" role="group" aria-label="What dragging does">
<button type="button" data-tool="box" aria-pressed="true">Box</button>
<button type="button" data-tool="lasso" aria-pressed="false">Lasso</button>
<button type="button" data-tool="pan" aria-pressed="false">Move</button>
</div>
{% if view.has_text %}
<label class="search"><span class="visually-hidden">Find rows by their text</span>
<input type="search" id="search" placeholder="Find text" autocomplete="off" spellcheck="false"></label>
{% endif %}
<button type="button" id="clear" disabled>Clear selection</button>
</div>
<div id="legend" class="legend" role="group" aria-label="Legend"></div>
<div class="panes">
{% for pane in view.panes %}
<figure data-pane="{{ pane.name }}">
<figcaption><b>{{ pane.title }}</b>
<span class="aside" title="{{ pane.method | short(200) }}">{{ pane.method | short(60) }}</span>
<span class="zooms"><button type="button" data-zoom="in" aria-label="Zoom in: {{ pane.title }}">+</button>\
<button type="button" data-zoom="out" aria-label="Zoom out: {{ pane.title }}">−</button>\
<button type="button" data-zoom="reset" aria-label="Reset to the whole map: {{ pane.title }}">Reset</button>\
</span></figcaption>
<div class="plane"><canvas class="points" aria-hidden="true"></canvas><canvas class="overlay" tabindex="0"
role="application" aria-label="{{ pane.title }}, map of {{ view.shown | count }} rows. The arrow keys move from row to
row, Enter selects a row, plus and minus zoom, and Escape clears the
selection." aria-describedby="spoken"></canvas></div>
</figure>
{% endfor %}
</div>
<p id="spoken" class="visually-hidden" aria-live="polite"></p>
<div id="chosen" class="chosen" data-empty="{{ view.nothing_selected }}" aria-live="polite">
<p class="sentence">{{ view.nothing_selected }}</p>
<dl class="facts inline"></dl>
<p class="common"></p>
</div>
<div id="chosen-rows" hidden>
<div class="scroll" tabindex="0" role="region" aria-label="Selected rows">
<table class="rows"><thead></thead><tbody></tbody></table>
</div>
<button type="button" class="more" hidden></button>
<details><summary>Row numbers of the selection</summary>
<textarea readonly rows="3" aria-label="Row numbers of the selection"></textarea></details>
<p class="caption">These numbers describe the selection and test nothing: rows that were chosen by looking at the map
seem more extreme than they are.</p>
</div>
</div>
<div class="map-static">
<div class="panes">
{% for pane in view.panes %}
<figure>
<figcaption><b>{{ pane.title }}</b> <span class="aside">{{ pane.method | short(60) }}</span></figcaption>
{% if pane.n %}
<svg viewBox="0 0 400 300" role="img" aria-label="{{ pane.title }}: {{ pane.n | count }} rows coloured by the
{{ view.field_name | lower }}">
{% for colour, path in pane.paths.items() %}
<path class="{{ colour }}" d="{{ path }}"/>
{% endfor %}
</svg>
{% else %}
<p class="empty">This view has no positions to show.</p>
{% endif %}
</figure>
{% endfor %}
</div>
<p class="caption">Colours: {{ view.field_name | lower }}.</p>
<p class="caption ramp-line"><span>{{ view.ends[0] }}, −{{ view.limit | size(decimals - 1) }} points or less</span>
<svg class="ramp-drawn" viewBox="0 0 {{ 10 * view.shades | length }} 10" aria-hidden="true">
{% for colour in view.shades %}
<path class="{{ colour }}" d="M{{ 10 * loop.index0 }} 5h10"/>
{% endfor %}
</svg>
<span>{{ view.ends[1] }}, +{{ view.limit | size(decimals - 1) }} points or more</span></p>
</div>
{% if not view.has_text %}
<p class="caption">{{ "The texts were left off this page on request." if view.redacted else
"No text column was given, so pointing at a row shows its numbers only." }}</p>
{% endif %}
{% if not view.has_metadata %}
<p class="caption">No metadata columns were given (option --metadata), so the points cannot be coloured by metadata.</p>
{% endif %}
{% if view.left_off %}
<p class="caption">To keep the page small, the map leaves out these columns:
{{ view.left_off | map("short", 40) | join(", ") }}.</p>
{% endif %}
{% endif %}
"""


@dataclass(frozen=True)
class AtlasView:
    """The rows for the page's program, the drawing for print, and how many rows of how many are shown."""

    payload: dict[str, Any]
    panes: list[dict[str, Any]]
    shown: int
    total: int
    structure: bool
    redacted: bool
    terms: Vocabulary
    nothing_selected: str = NOTHING_SELECTED
    shades: tuple[str, ...] = legend.FIELD

    @property
    def limit(self) -> float:
        """Where the colour scale of the field ends."""
        return self.payload["limits"][self.payload["first"]]

    @property
    def field_name(self) -> str:
        """The field that the drawing is coloured by."""
        return legend.FIELD_NAMES[self.payload["first"]]

    @property
    def ends(self) -> tuple[str, str]:
        """What both ends of its colours mean."""
        return legend.field_ends(self.payload["first"], self.terms)

    @property
    def left_off(self) -> list[str]:
        """Metadata columns that are too large for the page."""
        return self.payload["left_off"]

    @property
    def has_text(self) -> bool:
        """Whether rows have texts."""
        return self.payload["text"] is not None

    @property
    def has_metadata(self) -> bool:
        """Whether there are metadata columns to colour by."""
        return bool(self.payload["meta"])


def view(source: Source) -> AtlasView:
    """Return the map."""
    payload = map_payload(source)
    info = source.summary.map
    return AtlasView(
        payload=payload,
        panes=static_panes(payload) if payload["n"] else [],
        shown=payload["n"],
        total=(info.n_total if info else 0) or source.summary.n,
        structure=source.summary.field.structure,
        redacted=source.redact_text,
        terms=vocabulary(source.summary.kind),
    )


PANEL = Panel("atlas", "Map of the inputs", view, TEMPLATE, contents="Map")
