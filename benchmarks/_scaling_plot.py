"""One picture of what discover costs: time and memory against rows and against columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np

# Okabe and Ito's colours: told apart with any colour vision
WALL, PROCESSOR, FLOOR, MEMORY = "#0072B2", "#E69F00", "#555555", "#009E73"
AXES = {"n": "rows n  (d = {d:,})", "d": "columns d  (n = {n:,})"}


def draw(lines: dict[str, list[dict]], folder: Path) -> None:
    """Write scaling.svg and scaling.png; `lines` holds the records along n and along d, ascending."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    lines = {name: rows for name, rows in lines.items() if len(rows) > 1}
    if not lines:
        raise SystemExit("two sizes at least are needed for a picture")
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"font.size": 9, "svg.hashsalt": "scaling", "svg.fonttype": "none"}):
        figure = Figure(figsize=(4.2 * len(lines), 5.6), layout="constrained")
        panels = figure.subplots(2, len(lines), sharex="col", sharey="row", squeeze=False)
        for column, (name, rows) in enumerate(lines.items()):
            times, memory = panels[:, column]
            size = [r[name] for r in rows]
            _line(times, name, size, [r["seconds"] for r in rows], WALL, "o-", "wall clock")
            _line(times, name, size, [r["cpu_seconds"] for r in rows], PROCESSOR, "s--", "processor time")
            _line(times, name, size, [r["floor"] for r in rows], FLOOR, "^:", "floor: products alone")
            _line(memory, name, size, [r["peak_mb"] / 1024 for r in rows], MEMORY, "o-", "all processes together")
            _line(memory, name, size, [r["largest_mb"] / 1024 for r in rows], FLOOR, "^:", "largest process")
            inputs = [4 * r["n"] * r["d"] / 2**30 for r in rows]
            _line(memory, name, size, inputs, PROCESSOR, "s--", "the inputs themselves")
            memory.set_xlabel(AXES[name].format(**rows[0]))
            memory.set_xticks(size, [f"{value:,}" for value in size])
            memory.minorticks_off()
            times.set_title(f"against {'rows' if name == 'n' else 'columns'}", loc="left")
        panels[0, 0].set_ylabel("seconds")
        panels[1, 0].set_ylabel("peak memory, GiB")
        for panel in panels.flat:
            panel.legend(frameon=False, fontsize=7.5)
            panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        figure.suptitle(f"miscal discover, method auto, {rows[0]['cores']} cores", x=0.01, ha="left")
        for kind in ("svg", "png"):
            figure.savefig(folder / f"scaling.{kind}", dpi=160, metadata={"Date": None} if kind == "svg" else None)


def _line(panel, name: str, size: list[float], value: list[float], colour: str, form: str, label: str) -> None:
    slope = np.polyfit(np.log(size), np.log(value), 1)[0]
    label = f"{label} $\\propto {name}^{{{slope:.2f}}}$"
    panel.loglog(size, value, form, color=colour, markersize=4.5, linewidth=1.5, label=label)
    panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
