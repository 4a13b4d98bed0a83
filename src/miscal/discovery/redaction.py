"""Leave texts, and the terms made of them, out of a run.

Groups of rows with a term are tested as ever, and keep their numbers; only what they are called is left out. The saved
model is a matter of its own: texts that were counted by their words are counted by the same words again.
"""

from dataclasses import replace

import numpy as np

from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.discovery.answer import worded
from miscal.discovery.summary import Summary
from miscal.findings.conditions import TermNumbers
from miscal.findings.ledger import Ledger

SETTING = "redact_text"
"""Key of ``summary.settings`` that says whether texts were left out."""

UNNAMED = "the same"
"""What an answer that a model gives again and again is called."""


def check_redactable(triples: Triples) -> None:
    """Refuse rows whose texts are given twice: once as texts, and once more as metadata.

    Examples
    --------
    >>> rows = dict(confidence=[0.5, 0.9], correct=[1, 0], text=["a b", "c d"])
    >>> check_redactable(Triples.of([[0.0], [1.0]], **rows, metadata={"question": ["a b", "c d"]}))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: redact_text leaves the texts out, but the metadata column 'question' holds them: ...
    """
    for name, values in triples.metadata.items():
        if triples.text is not None and np.array_equal(np.asarray(values, object), np.asarray(triples.text, object)):
            raise InputError(
                f"redact_text leaves the texts out, but the metadata column {name!r} holds them: do not name it as "
                "metadata"
            )


def without_texts(triples: Triples) -> Triples:
    """Return the same rows without their texts and answers: nothing that is made of them can name a word."""
    source = dict(triples.source)
    if "one_answer" in source:
        source["one_answer"] = source["one_answer"] | {"answer": UNNAMED}
    return replace(triples, text=None, answers={}, source=source)


def without_terms(ledger: Ledger) -> Ledger:
    """Return the same findings with numbers in place of the terms of the texts.

    Returns with as many findings, of the same numbers. Aliases that are terms are left out.
    """
    number = TermNumbers()
    findings, accounted = (tuple(one.redacted(number) for one in part) for part in (ledger.findings, ledger.accounted))
    return replace(ledger, findings=findings, accounted=accounted)


def redacted(summary: Summary) -> Summary:
    """Return the summary of a run without words of its texts.

    `summary`: of a run that tells its texts. Returns the same numbers. Terms of the
    texts in findings are called by numbers; the three lines are written anew.
    """
    number = TermNumbers()
    findings, accounted = (
        tuple(one.redacted(number) for one in part) for part in (summary.findings, summary.accounted_for)
    )
    regimes = tuple(one.model_copy(update={"keywords": ()}) for one in summary.regimes)
    without = summary.model_copy(update={"findings": findings, "accounted_for": accounted, "regimes": regimes})
    plain = summary.plain
    if plain.one_answer is not None:
        settings = dict(summary.settings)
        settings["source"] = {name: value for name, value in settings["source"].items() if name != "one_answer"}
        named = {"plain": plain.model_copy(update={"one_answer": UNNAMED}), "settings": settings}
        without = without.model_copy(update=named)
    return worded(without)


def kept_by_model(triples: Triples) -> tuple[str, ...]:
    """Warn of the words that the saved model holds.

    `triples`: with the step that makes x. Returns one sentence, or none where the model holds no words.
    """
    words = getattr(triples.encoder, "terms", None)
    if not words:
        return ()
    return (
        f"the texts are left out of this run, but model/ holds the {len(words):,} words that it counts in texts "
        "(TF-IDF), without which it could not correct new rows: keep model/ to yourself, or give embeddings instead of "
        "texts",
    )
