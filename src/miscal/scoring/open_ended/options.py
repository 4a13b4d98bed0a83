"""The options of open-ended questions, checked, and what is told of a run afterwards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from miscal.base.arrays import did_you_mean
from miscal.base.errors import InputError
from miscal.base.number_wording import percent
from miscal.scoring.open_ended.answered_rows import EXACT, LATER, VERDICTS
from miscal.scoring.open_ended.asking import ANSWERS, GREEDY, MOST_FREQUENT, OpenEnded
from miscal.scoring.open_ended.sources import SOURCES

LETTERS = "letters"
DEFAULT_SAMPLES = 10


def confidence_sources(given: str | Sequence[str]) -> tuple[str, ...] | None:
    """Read the sources of confidence; None where the letters of multiple choice are asked for.

    Parameters
    ----------
    given : str or sequence of str
        Names, each alone or several with commas between them.

    Raises
    ------
    InputError
        If a name is unknown or occurs twice, or letters are named beside others.

    Examples
    --------
    >>> confidence_sources("p-true,likelihood"), confidence_sources("letters")
    (('p-true', 'likelihood'), None)
    """
    parts = [given] if isinstance(given, str) else given
    names = [name.strip() for part in parts for name in part.split(",")]
    unknown = [name for name in names if name not in (LETTERS, *SOURCES)]
    if unknown or not names:
        hint = did_you_mean(unknown[0], (LETTERS, *SOURCES)) if unknown else ""
        allowed = f"{LETTERS}, or one or several of {', '.join(SOURCES)}"
        raise InputError(f"confidence_from must be {allowed}; got {', '.join(unknown)!r}{hint}")
    if len(set(names)) < len(names):
        raise InputError(f"confidence_from names a source twice: {', '.join(names)}")
    if names == [LETTERS]:
        return None
    if LETTERS in names:
        raise InputError(
            "confidence_from: letters are weighed in multiple choice, and the others are confidences of an answer that "
            f"the model writes; got {', '.join(names)}: score them into two folders"
        )
    return tuple(names)


def open_ended(
    sources: tuple[str, ...],
    *,
    answer: str | None,
    samples: int | None,
    temperature: float | None,
    max_new_tokens: int | None,
    seed: int,
) -> OpenEnded:
    """Check the options and return how the questions are asked; None stands for a default.

    Raises
    ------
    InputError
        If a value is not allowed, or samples are described that nothing needs.
    """
    answer = answer or GREEDY
    if answer not in ANSWERS:
        raise InputError(f"answer must be one of {', '.join(ANSWERS)}; got {answer!r}")
    drawn = answer == MOST_FREQUENT or any(SOURCES[name].samples for name in sources)
    if not drawn and (samples is not None or temperature is not None):
        raise InputError(
            "samples and temperature change nothing here, because no samples are drawn: leave them out, or add "
            "frequency to confidence_from"
        )
    least = 2 if answer == MOST_FREQUENT else 1
    if samples is not None and samples < least:
        raise InputError(f"samples must be at least {least} for the {answer} answer; got {samples}")
    if temperature is not None and not (math.isfinite(temperature) and temperature > 0):
        raise InputError(f"temperature must be a positive number; got {temperature}")
    if max_new_tokens is not None and max_new_tokens < 1:
        raise InputError(f"max_new_tokens must be at least 1; got {max_new_tokens}")
    return OpenEnded(
        sources, answer, (samples or DEFAULT_SAMPLES) if drawn else 0, temperature or 1.0, max_new_tokens or 32, seed
    )


def check_verdict(verdict: str | None) -> str:
    """Return who judges the answers, by default exact match."""
    if verdict not in (None, *VERDICTS):
        raise InputError(f"verdict must be one of {', '.join(VERDICTS)}; got {verdict!r}")
    return verdict or EXACT


def described(asking: OpenEnded, verdict: str) -> dict[str, Any]:
    """Return what a manifest records of how the questions are asked."""
    follow_ups = {name: SOURCES[name].follow_up for name in asking.sources}
    return {
        "confidence_from": list(asking.sources),
        "answer": asking.answer,
        "samples": asking.samples,
        "temperature": asking.temperature,
        "max_new_tokens": asking.longest,
        "verdict": verdict,
        "follow_up_prompts": {name: asked.template for name, asked in follow_ups.items() if asked},
    }


def notes(counts: Mapping[str, Any], n_scored: int, folder: Path, verdict: str) -> list[str]:
    """Say what must be known of the answers of a finished run, a sentence each.

    Parameters
    ----------
    counts : mapping
        Of `AnsweredRows.manifest`.
    n_scored : int
    folder : Path
    verdict : {"exact", "later"}
    """
    told = []
    for column, n in counts["missing_confidences"].items():
        why = next(source.missing for source in SOURCES.values() if column in source.columns)
        told.append(f"{column} is missing in {n:,} of {n_scored:,} rows ({percent(n / n_scored)}), because {why}")
    if counts["empty_answers"]:
        told.append(f"the model wrote no answer in {counts['empty_answers']:,} of {n_scored:,} rows")
    if counts["cut_answers"]:
        told.append(
            f"{counts['cut_answers']:,} of {n_scored:,} answers were cut at the largest number of tokens; "
            "--max-new-tokens allows longer ones"
        )
    if counts["without_verdict"]:
        why = "as asked for" if verdict == LATER else "because no answer is given as accepted"
        told.append(
            f"{counts['without_verdict']:,} of {n_scored:,} rows have no verdict yet, {why}: copy "
            f"{folder / 'triples.parquet'}, write 1 (right) or 0 (wrong) into its column correct, and go on with "
            f"miscal discover COPY --embeddings {folder / 'embeddings.safetensors'}"
        )
    return told
