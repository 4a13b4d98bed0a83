"""The two prompts of the paper, letters, and prompt templates read from a file.

Source of the wording: "Discovery of Hidden Miscalibration Regimes" (arXiv 2605.13484), appendix on real data.
The blank before the answer belongs to the candidate (" A"), but for preferences, whose prompt ends in it in the paper.
"""

from __future__ import annotations

import re
from pathlib import Path

from miscal.base.errors import FileError, InputError

MULTIPLE_CHOICE = "Question: {question}\n\n{choices}\n\nThe correct answer is:"

PREFERENCE = (
    "Act as an impartial judge and evaluate the quality of two candidate responses (Response A and Response B) to the "
    "user query displayed below. Make your decision based on which response is more helpful while not being harmful.\n"
    "\n"
    "## Context and Query:\n{prompt}\n"
    "\n"
    "## Response A:\n{response_a}\n"
    "\n"
    "## Response B:\n{response_b}\n"
    "\n"
    "## Your Choice:\nIn this context, the Assistant should respond with Response "
)

OPEN = (
    "Answer each question with a few words.\n"
    "\n"
    "Question: What is the capital of Italy?\n"
    "Answer: Rome\n"
    "\n"
    "Question: Who wrote Don Quixote?\n"
    "Answer: Miguel de Cervantes\n"
    "\n"
    "Question: {question}\n"
    "Answer:"
)
"""Ours, for open-ended questions: two examples show a base model where an answer ends."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

FIELDS = {
    "choice": ("question", "choices"),
    "preference": ("prompt", "response_a", "response_b"),
    "open": ("question",),
}
DEFAULTS = {"choice": MULTIPLE_CHOICE, "preference": PREFERENCE, "open": OPEN}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def lettered(choices: tuple[str, ...]) -> str:
    """Write the choices one to a line, each after its letter; the texts stay verbatim.

    >>> print(lettered(("red", "blue")))
    A. red
    B. blue
    """
    return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False))


def render(template: str, **fields: str) -> str:
    r"""Put the fields into the template; braces inside the fields are left alone.

    >>> render("Q: {question}\n{choices}", question="{1, 2} is a?", choices="A. set")
    'Q: {1, 2} is a?\nA. set'
    """
    return _PLACEHOLDER.sub(lambda match: fields[match.group(1)], template)


def kind_of(template: str) -> str:
    """Tell which kind of task a checked template asks.

    >>> kind_of(PREFERENCE), kind_of(MULTIPLE_CHOICE)
    ('preference', 'choice')
    """
    named = set(_PLACEHOLDER.findall(template))
    return next((kind for kind, fields in FIELDS.items() if named == set(fields)), "choice")


def check_template(template: str, kind: str) -> str:
    """Return the template if it names every field of its kind and no other.

    Parameters
    ----------
    template : str
        Prompt with placeholders in braces.
    kind : {"choice", "preference", "open"}
        Multiple choice needs ``{question}`` and ``{choices}``; preference needs ``{prompt}``, ``{response_a}`` and
        ``{response_b}``; an open-ended question needs ``{question}``.
    """
    wanted, named = set(FIELDS[kind]), set(_PLACEHOLDER.findall(template))
    if named != wanted:
        raise InputError(
            f"the prompt template of a {kind} task must hold exactly the placeholders "
            f"{', '.join('{' + name + '}' for name in FIELDS[kind])}; missing: {sorted(wanted - named) or 'none'}, "
            f"unknown: {sorted(named - wanted) or 'none'}"
        )
    if template.removesuffix(" " if kind == "preference" else "") != template.rstrip():
        raise InputError(
            "the prompt template must not end in white space, since every candidate begins with a blank; remove it "
            "(of preferences it may end in one blank, and the letters follow without one)"
        )
    return template


def read_template(path: str | Path, kind: str) -> str:
    """Read a prompt template; one line break at the end of the file is dropped, nothing else."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"prompt template {path}: cannot be read as UTF-8 text ({error})") from error
    return check_template(text.removesuffix("\n"), kind)
