"""Where the confidence of an answer to an open-ended question may come from: one file each, registered here."""

from __future__ import annotations

from miscal.scoring.open_ended.sources import frequency, likelihood, p_true, verbalized
from miscal.scoring.open_ended.sources.source import ConfidenceSource

SOURCES: dict[str, ConfidenceSource] = {
    source.name: source for source in (p_true.SOURCE, verbalized.SOURCE, frequency.SOURCE, likelihood.SOURCE)
}
