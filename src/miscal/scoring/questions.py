"""How a model is asked: options of ``miscal score``, prompts, questions and pairs, and the items made of both.

Source of the wording: "Discovery of Hidden Miscalibration Regimes" (arXiv 2605.13484), appendix on real data.
The blank before the answer belongs to the candidate (" A"), but for preferences, whose prompt ends in it in the paper.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from miscal.base.errors import FileError, InputError
from miscal.base.options import number, parameter
from miscal.base.process import LARGEST_SEED

Form = Literal["letter", "text", "text_per_token", "text_per_byte"]
FORMS = get_args(Form)


# --- prompts ---------------------------------------------------------------------------------------------------------

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

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

FIELDS = {
    "choice": ("question", "choices"),
    "preference": ("prompt", "response_a", "response_b"),
}
DEFAULTS = {"choice": MULTIPLE_CHOICE, "preference": PREFERENCE}

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
    kind : {"choice", "preference"}
        Multiple choice needs ``{question}`` and ``{choices}``; preference needs ``{prompt}``, ``{response_a}`` and
        ``{response_b}``.
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


# --- questions and items ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """One multiple-choice question.

    Parameters
    ----------
    id : str
        Name of the question.
    question : str
        Its text, used verbatim.
    choices : tuple of str
        The options, used verbatim, at most 26.
    answer_index : int
        Position of the right option, from 0.
    metadata : mapping
        Further columns, kept beside the result.
    problem : str, optional
        Why the row cannot be scored, where that is known already.
    """

    id: str
    question: str
    choices: tuple[str, ...]
    answer_index: int
    metadata: Mapping[str, object] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A context with the response people chose and the one they rejected; for the rest see `Question`."""

    id: str
    prompt: str
    chosen: str
    rejected: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One row to score: a prompt, the candidates that may follow it and which of them is right.

    ``rule`` is "top" (confidence of the best candidate; correct if that one is right) or "first" (confidence of the
    first candidate; correct if that one is right). ``problem`` is the reason why the row cannot be scored, or None.
    """

    row: int
    id: str
    prompt: str
    rule: str
    text: str
    candidates: tuple[str, ...] = ()
    gold: int = -1
    choices: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    problem: str | None = None


def metadata_columns(items: Sequence[Item], taken: Collection[str]) -> dict[str, list[Any]]:
    """Return the metadata of the source; a column named like one that is taken gets ``source_`` in front."""
    names = dict.fromkeys(name for item in items for name in item.metadata)
    return {f"source_{name}" if name in taken else name: [item.metadata.get(name) for item in items] for name in names}


def _question_problem(question: Question) -> str | None:
    if question.problem:
        return question.problem
    if not question.question.strip():
        return "empty question"
    if not 2 <= len(question.choices) <= len(LETTERS):
        return f"there must be 2 to {len(LETTERS)} choices; got {len(question.choices)}"
    if not 0 <= question.answer_index < len(question.choices):
        return f"answer_index {question.answer_index} is outside the {len(question.choices)} choices"
    return None


def question_items(
    questions: Sequence[Question], *, template: str = DEFAULTS["choice"], form: str = "letter"
) -> list[Item]:
    r"""Make the items of multiple-choice questions.

    `form` is what follows the prompt: one blank and the letter, or one blank and the text of the choice, whose
    log-probability is summed, or divided by its number of tokens or of bytes.

    >>> item = question_items([Question("q", "2 + 2?", ("3", "4"), 1)])[0]
    >>> item.prompt
    'Question: 2 + 2?\n\nA. 3\nB. 4\n\nThe correct answer is:'
    >>> item.candidates, item.gold
    ((' A', ' B'), 1)
    """
    if form not in FORMS:
        raise InputError(f"form must be one of {', '.join(FORMS)}; got {form!r}")
    check_template(template, "choice")
    items = []
    for row, question in enumerate(questions):
        listed = lettered(question.choices)
        named = LETTERS[: len(question.choices)] if form == "letter" else question.choices
        items.append(
            Item(
                row=row,
                id=question.id,
                prompt=render(template, question=question.question, choices=listed),
                candidates=tuple(f" {name}" for name in named),
                gold=question.answer_index,
                rule="top",
                text=f"{question.question}\n{listed}",
                choices=question.choices,
                metadata=question.metadata,
                problem=_question_problem(question),
            )
        )
    return items


def chosen_first(pair_id: str, seed: int) -> bool:
    """Toss the coin that puts the chosen response into slot A.

    It is one bit of a hash of seed and id, so it depends neither on the order of the rows nor on a library version.

    >>> chosen_first("pair-0", 0) == chosen_first("pair-0", 0)
    True
    """
    return bool(hashlib.sha256(f"{seed}:{pair_id}".encode()).digest()[0] & 1)


def pair_items(pairs: Sequence[PreferencePair], *, template: str = DEFAULTS["preference"], seed: int = 0) -> list[Item]:
    """Make the items of preference pairs; slots A and B are dealt by a seeded coin (`chosen_first`).

    Candidates are "A" and "B", after a blank where the template does not end in one; ``gold`` is 0 where the chosen
    response is in slot A.
    """
    check_template(template, "preference")
    items = []
    for row, pair in enumerate(pairs):
        first = chosen_first(pair.id, seed)
        response_a, response_b = (pair.chosen, pair.rejected) if first else (pair.rejected, pair.chosen)
        items.append(
            Item(
                row=row,
                id=pair.id,
                prompt=render(template, prompt=pair.prompt, response_a=response_a, response_b=response_b),
                candidates=("A", "B") if template.endswith(" ") else (" A", " B"),
                gold=0 if first else 1,
                rule="first",
                text=f"{pair.prompt}\n\nA: {response_a}\n\nB: {response_b}",
                choices=(response_a, response_b),
                metadata=pair.metadata,
                problem=pair.problem or (None if pair.prompt.strip() else "empty prompt"),
            )
        )
    return items


# --- options ---------------------------------------------------------------------------------------------------------

_COUNT = number(int, 1)


@dataclass(frozen=True)
class ScoringOptions:
    """Options of scoring."""

    engine: Literal["local", "ray"] = parameter("Compute on this machine, or on a Ray cluster.", "local")
    ray_address: str | None = parameter("Address of an existing Ray cluster.", metavar="URL")
    workers: int | None = parameter("Number of CPU processes.", metavar="N", parse=_COUNT)
    dtype: Literal["auto", "float32", "bfloat16"] = parameter(
        "Precision of the weights; auto: bfloat16 on a GPU that has it, else float32.", "auto"
    )
    device: str = parameter("Where to compute: auto, cpu, cuda, cuda:1, ...", "auto", metavar="NAME")
    revision: str | None = parameter("Commit, branch or tag of the model.", metavar="REV")
    task_revision: str | None = parameter("Commit, branch or tag of the task's data set on the hub.", metavar="REV")
    trust_remote_code: bool = parameter("Allow code that comes with the model to run.", False)
    form: Form | None = parameter("What the model is asked to weigh: the letters, or the texts of the answers.")
    prompt_file: str | None = parameter("File with the prompt template. Default: the paper's prompt.", metavar="FILE")
    limit: int | None = parameter(
        "Score a random sample of N rows, drawn by --seed, each category in proportion.", metavar="N", parse=_COUNT
    )
    seed: int = parameter("Seed of all random numbers.", 0, metavar="N", parse=number(int, 0, most=LARGEST_SEED))
    batch_tokens: int | None = parameter("Tokens per batch, padding included.", metavar="N", parse=_COUNT)
    threads: int | None = parameter("Number of CPU threads per process.", metavar="N", parse=_COUNT)
    embeddings_dtype: Literal["float32", "float16"] = parameter(
        "Precision of the hidden states on disk. float16 takes half the space; where a number does not fit, all are "
        "stored in float32, and a sentence says so.",
        "float32",
    )


@dataclass(frozen=True)
class EndpointOptions:
    """A server that is asked in place of a model of one's own."""

    endpoint: str | None = parameter(
        "Ask a server of decision models at this address (POST .../v1/systemone), by the key in MISCAL_ENDPOINT_KEY.",
        metavar="URL",
    )
    questions: str | None = parameter(
        "With --endpoint, in place of --task: JSON lines with id, state, questions and labels.", metavar="FILE"
    )
    jobs: int = parameter("With --endpoint: how many items are asked at a time.", 8, metavar="N", parse=_COUNT)
