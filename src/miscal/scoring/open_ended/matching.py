"""Whether an answer is right: exact match with an accepted answer, after the normalisation of TriviaQA.

Source: Joshi et al. (2017), "TriviaQA", whose evaluation script follows that of SQuAD (Rajpurkar et al. 2016) but puts
a blank in the place of punctuation instead of removing it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection

_PUNCTUATION = re.compile("[" + re.escape(string.punctuation + "\u2018\u2019\u201c\u201d\u00b4") + "]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(answer: str) -> str:
    """Write an answer in lower case, without punctuation, articles (a, an, the) and white space that is not needed.

    Where nothing would be left ("A", "The The"), only case and white space are normalised, so that such answers match
    themselves and nothing else.

    Parameters
    ----------
    answer : str

    Returns
    -------
    str

    Examples
    --------
    >>> normalised("The  Eiffel-Tower."), normalised("An"), normalised("  ")
    ('eiffel tower', 'an', '')
    """
    lower = answer.lower()
    bare = " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub(" ", lower)).split())
    return bare or " ".join(lower.split())


def is_accepted(answer: str, accepted: Collection[str]) -> bool:
    """Tell whether an answer matches one of the accepted ones; an empty answer matches none.

    Parameters
    ----------
    answer : str
    accepted : collection of str

    Examples
    --------
    >>> is_accepted("the Beatles!", ["Wings", "Beatles"]), is_accepted("", [""])
    (True, False)
    """
    given = normalised(answer)
    return bool(given) and given in {normalised(one) for one in accepted}
