"""Leaving texts out of what a run tells: the texts themselves, and the terms that were made of them.

Groups of rows with a term are tested as ever, and keep their numbers; only what they are called is left out. The saved
model is a matter of its own: texts that were counted by their words are counted by the same words again.
"""

from dataclasses import replace

import numpy as np

from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.discovery.findings import Ledger
from miscal.findings.ledger import IN_TEXT, TEXT, Finding

SETTING = "redact_text"
"""Key of ``summary.settings`` that says whether texts were left out."""


def check_redactable(triples: Triples) -> None:
    """Refuse rows whose texts are told twice: once as texts, and once more as metadata.

    Parameters
    ----------
    triples : Triples
        The rows.

    Raises
    ------
    InputError
        If a metadata column holds the texts.

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
    """Return the same rows without their texts: nothing that is made of them can name a word."""
    return replace(triples, text=None)


def without_terms(ledger: Ledger) -> Ledger:
    """Return the same findings, those that terms of the texts describe without the terms.

    Parameters
    ----------
    ledger : Ledger
        The findings of a run.

    Returns
    -------
    Ledger
        With as many findings, of the same numbers. Aliases that are terms are left out.
    """
    count = 0
    findings = []
    for one in map(_without_term_aliases, ledger.findings):
        described = one.description
        if TEXT in one.columns or IN_TEXT in described:
            count += 1
            described = f"term {count} of the texts (left out)"
        findings.append(replace(one, description=described))
    return replace(ledger, findings=tuple(findings), accounted=tuple(map(_without_term_aliases, ledger.accounted)))


def _without_term_aliases(finding: Finding) -> Finding:
    return replace(finding, aliases=tuple(name for name in finding.aliases if IN_TEXT not in name))


def kept_by_model(triples: Triples) -> tuple[str, ...]:
    """Warn of the words that the saved model holds.

    Parameters
    ----------
    triples : Triples
        With the step that makes x.

    Returns
    -------
    tuple of str
        One sentence, or none where the model holds no words.
    """
    words = getattr(triples.encoder, "terms", None)
    if not words:
        return ()
    return (
        f"the texts are left out of this run, but model/ holds the {len(words):,} words that it counts in texts "
        "(TF-IDF), without which it could not correct new rows: keep model/ to yourself, or give embeddings instead of "
        "texts",
    )
