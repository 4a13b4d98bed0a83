"""Score questions or pairs in memory: the Python door to the scorer. Long runs go through `miscal.scoring.folder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miscal.base.errors import InputError
from miscal.data.triples import Triples
from miscal.scoring.candidates import Encoded, encode
from miscal.scoring.engine import LanguageModel, Runner, plan
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.prompts import DEFAULTS
from miscal.scoring.questions import (
    Item,
    OpenQuestion,
    PreferencePair,
    Question,
    open_items,
    pair_items,
    question_items,
)
from miscal.scoring.scored_rows import Scored, assemble

BATCH_TOKENS = 1024


def default_batch_tokens(device: str = "auto") -> int:
    """Return the padded tokens per batch that suit a device: 1024 on a CPU (more leaves its caches), 32768 on a GPU."""
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return BATCH_TOKENS if device.startswith("cpu") else 32 * BATCH_TOKENS


def as_model(model: str | ModelSpec | LanguageModel) -> LanguageModel:
    """Load a model named by text or by a `ModelSpec`; a model already loaded is returned as it is."""
    spec = ModelSpec(model) if isinstance(model, str) else model
    if not isinstance(spec, ModelSpec):
        return spec
    from miscal.scoring.huggingface import HuggingFaceModel

    return HuggingFaceModel(spec)


def as_items(
    questions: Sequence[Question] | Sequence[PreferencePair] | Sequence[OpenQuestion],
    *,
    form: str = "letter",
    template: str | None = None,
    seed: int = 0,
) -> list[Item]:
    """Make items of questions or of pairs (see `question_items`, `pair_items` and `open_items`)."""
    kinds = {type(question) for question in questions}
    if kinds == {PreferencePair}:
        if form != "letter":
            raise InputError(f"form must be letter for preference pairs; got {form!r}")
        return pair_items(questions, template=template or DEFAULTS["preference"], seed=seed)
    if kinds == {Question}:
        return question_items(questions, template=template or DEFAULTS["choice"], form=form)
    if kinds == {OpenQuestion}:
        return open_items(questions, template=template or DEFAULTS["open"])
    names = sorted(kind.__name__ for kind in kinds) or "nothing"
    raise InputError(f"questions must be a sequence of Question or of PreferencePair; got {names}")


@dataclass(frozen=True, slots=True)
class Answers:
    """What the model said, before it is judged; by row, ``hidden`` is float32 (width,)."""

    encoded: tuple[Encoded, ...]
    log_probs: dict[int, np.ndarray]
    hidden: dict[int, np.ndarray]
    failed: dict[int, str]


def evaluate_items(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    batch_tokens: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Answers:
    """Put items to a model, all in memory; `on_batch` is called with the number of rows of every batch that is done."""
    encoded, failed = encode(items, model.tokenize, max_length=model.max_length, n_lead=model.n_lead)
    runner, log_probs, hidden = Runner(model), {}, {}
    if batch_tokens is None:
        batch_tokens = default_batch_tokens(str(getattr(model, "device", "cpu")))
    for batch in plan(encoded, batch_tokens):
        result = runner.run(batch)
        log_probs.update(zip(result.rows, result.log_probs, strict=True))
        hidden.update(zip(result.rows, result.hidden, strict=True))
        failed |= result.failed
        if on_batch:
            on_batch(len(batch))
    return Answers(tuple(encoded), log_probs, hidden, failed)


def judge(items: Sequence[Item], answers: Answers, form: str = "letter") -> tuple[Scored, np.ndarray]:
    """Judge what the model said; return the scored rows and their hidden states, float32 (n_scored, width)."""
    scored = assemble(items, answers.encoded, answers.log_probs, answers.failed, form)
    return scored, np.array([answers.hidden[item.row] for item in scored.items], dtype=np.float32)


def score(
    model: str | ModelSpec | LanguageModel,
    questions: Sequence[Question] | Sequence[PreferencePair],
    *,
    form: str = "letter",
    template: str | None = None,
    seed: int = 0,
    batch_tokens: int | None = None,
) -> Triples:
    """Ask a language model and return triples of hidden state, confidence and outcome.

    Multiple choice: the confidence is the renormalised probability of the most probable choice and ``correct`` says
    whether it is the right one. Pairs: the confidence is that of slot A and ``correct`` says whether A was chosen.

    Parameters
    ----------
    model : str, ModelSpec or LanguageModel
        Hub id, folder, ``.gguf`` file, short name of the registry, or a model already loaded.
    questions : sequence of Question or sequence of PreferencePair
    form : {"letter", "text", "text_per_token", "text_per_byte"}, default "letter"
        What follows the prompt as a candidate (questions only).
    template : str, optional
        Prompt; default: the paper's.
    seed : int, default 0
        Of the coin that deals the slots of pairs.
    batch_tokens : int, optional
        Padded tokens per batch, default 1024 on a CPU and 32768 on a GPU; changes no number beyond rounding.

    Returns
    -------
    Triples
        X float32 (n, width): hidden state at the last prompt token, after the final norm; confidence float64 (n,) in
        [0, 1]; correct float64 (n,) 0/1; metadata of the questions, ``predicted`` and ``candidate_mass``. Rows that
        could not be scored are left out and named in ``notes``, beside warnings of the tokenizer; ``row`` keeps the
        numbering of the questions.

    Raises
    ------
    InputError
        If nothing can be scored or an argument is not allowed.
    FileError, TrustError, ResourceError
        If the model cannot be loaded.

    Examples
    --------
    >>> from miscal.scoring import FakeModel, Question, score
    >>> triples = score(FakeModel(), [Question("q1", "Is ice cold?", ("no", "yes"), 1)])
    >>> triples.metadata["predicted"].tolist() in ([0], [1])
    True
    """
    items = as_items(questions, form=form, template=template, seed=seed)
    if items[0].rule == "open":
        raise InputError(
            "open-ended questions are scored into a folder: write them to a file and run miscal score, or "
            "miscal.scoring.command.run, with confidence_from"
        )
    asked = as_model(model)
    scored, hidden = judge(items, evaluate_items(asked, items, batch_tokens=batch_tokens), form)
    triples = scored.triples(hidden)
    heard = (f"the tokenizer warns: {warning}" for warning in getattr(asked, "warnings", ()))
    return replace(triples, notes=(*triples.notes, *heard))
