"""Score questions or pairs in memory: the Python door to the scorer. Long runs go through `miscal.scoring.folder`.

Source: arXiv 2605.13484, appendix on real data: log p(v | prompt) is the sum over the tokens of v, renormalised over
the candidates by a softmax.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import polars as pl

from miscal.base.arrays import SHOWN
from miscal.base.errors import InputError
from miscal.base.workers import InProcess, Processes, Workers, WorkItem, choose_workers
from miscal.data.triples import Triples
from miscal.scoring.engine import BatchAnswers, Encoded, LanguageModel, Runner, encode
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.questions import (
    DEFAULTS,
    Item,
    PreferencePair,
    Question,
    metadata_columns,
    pair_items,
    question_items,
)

BATCH_TOKENS = 1024

ATTEMPTS = 3
"""How often a batch whose process is ended from outside is computed, each time with half the rows per pass."""


# --- batches: which rows are computed together, and by which workers ------------------------------------------------


def plan(encoded: Sequence[Encoded], batch_tokens: int) -> list[list[Encoded]]:
    """Cut the rows into batches of at most ``batch_tokens`` padded tokens.

    Rows are sorted by cost, longest first (memory runs out at once or not at all), then by row number, so the plan
    depends on the data and the budget alone: a resumed run meets the same neighbours.

    Parameters
    ----------
    batch_tokens : int
        Budget per batch, at least 1; a row above it makes a batch of its own.
    """
    if batch_tokens < 1:
        raise InputError(f"batch_tokens must be at least 1; got {batch_tokens}")
    batches: list[list[Encoded]] = []
    widest = 0
    for row in sorted(encoded, key=lambda row: (-row.cost, row.row)):
        if not batches or (len(batches[-1]) + 1) * widest > batch_tokens:
            batches.append([])
            widest = row.cost
        batches[-1].append(row)
    return batches


def choose_batch_workers(
    engine: str, *, ray_address: str | None = None, workers: int | None = None, device: str = "auto"
) -> Workers:
    """Choose what computes the batches; all give the same numbers.

    Parameters
    ----------
    engine : {"local", "ray"}
        "local" takes one process per GPU if there are several, else this process.
    ray_address : str, optional
        Of a Ray cluster.
    workers : int, optional
        Number of CPU processes of the local engine; default: this process alone.
    device : str, default "auto"
        Where the model is to go; a GPU by its number is used alone.
    """
    if engine == "ray" and workers:
        raise InputError(
            "workers can be given with engine local only: Ray starts as many as its cluster has room for. Leave it out"
        )
    return choose_workers(engine, lambda: _local_workers(workers, device), ray_address)


def _local_workers(workers: int | None, device: str) -> Workers:
    from miscal.scoring.forward import visible_gpus

    gpus = visible_gpus()
    remedy = "give smaller --batch-tokens"
    if device.startswith("cpu") or (device == "auto" and not gpus):
        return Processes(workers, remedy=remedy) if workers and workers > 1 else InProcess()
    if workers and workers > 1:
        raise InputError(
            f"workers are CPU processes, but the device is {device!r}: leave workers out, or give --device cpu"
        )
    every = device in ("auto", "cuda") and len(gpus) > 1
    return Processes(len(gpus), gpus, remedy=remedy) if every else InProcess()


def batch_results(
    workers: Workers,
    model: LanguageModel | ModelSpec,
    batches: Sequence[tuple[int, Sequence[Encoded]]],
) -> Iterator[tuple[int, BatchAnswers]]:
    """Yield (number of the batch, result) as they are done.

    Parameters
    ----------
    workers : Workers
        Other processes load a `ModelSpec` themselves, once each.
    batches : sequence of (int, sequence of Encoded)
        Number of each batch, and its rows.
    """
    runner = Runner(model)
    with workers:
        yield from workers.results(_task(runner, index, batch) for index, batch in batches)


def _task(runner: Runner, index: int, batch: Sequence[Encoded], attempt: int = 1) -> WorkItem:
    """Put a batch into the words of the workers; the model decides itself about threads, which its folder notes."""
    spec = runner.model if isinstance(runner.model, ModelSpec) else None
    return WorkItem(
        f"batch {index}",
        compute_batch,
        (runner, batch, None if attempt == 1 else max(1, len(batch) >> (attempt - 1))),
        key=index,
        one_thread=False,
        gpu=spec is not None and not spec.device.startswith("cpu"),
        cpus=(spec.threads if spec else None) or 1,
        instead=None if attempt == ATTEMPTS else _task(runner, index, batch, attempt + 1),
    )


def compute_batch(runner: Runner, batch: Sequence[Encoded], most_rows: int | None) -> BatchAnswers:
    """Compute one batch in whatever process this is; a `ModelSpec` is loaded once per process."""
    runner = _loaded(runner.model) if isinstance(runner.model, ModelSpec) else runner
    if most_rows:
        runner.most_rows = min(runner.most_rows or most_rows, most_rows)
    return runner.run(batch)


@lru_cache(maxsize=1)
def _loaded(spec: ModelSpec) -> Runner:
    from miscal.scoring.huggingface import HuggingFaceModel

    return Runner(HuggingFaceModel(spec))


# --- from log-probabilities to confidence and outcome ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model answered.

    ``probs``, (n_candidates,), sum to 1 over the candidates; ``predicted`` is the position of the most probable one,
    the first of equals, and ``tied`` whether another is exactly as probable. ``confidence`` is by the rule "top" that
    of the predicted candidate, by "first" that of the first one; ``correct`` is whether this candidate is right.
    ``mass`` in [0, 1] is the probability of all candidates before renormalising, whatever the length normalisation.
    """

    probs: np.ndarray
    predicted: int
    confidence: float
    correct: int
    mass: float
    tied: bool


def scale(form: str, candidates: tuple[str, ...], n_tokens: np.ndarray) -> np.ndarray:
    """Return what each log-probability is divided by: 1, its number of tokens, or its number of UTF-8 bytes.

    The bytes are those of the answer, without the blank before it.
    """
    if form == "text_per_token":
        return n_tokens.astype(np.float64)
    if form == "text_per_byte":
        return np.array([max(1, len(text.removeprefix(" ").encode())) for text in candidates], dtype=np.float64)
    return np.ones(len(candidates))


def outcome(log_probs: np.ndarray, *, gold: int, rule: str, divisor: np.ndarray | None = None) -> Outcome:
    """Judge one row.

    Parameters
    ----------
    log_probs : ndarray of float64, shape (n_candidates,)
        Sum of the token log-probabilities of each candidate, <= 0 up to rounding.
    gold : int
        Position of the right candidate.
    rule : {"top", "first"}
        Whose probability is the confidence (see `Outcome`).
    divisor : ndarray of float64, shape (n_candidates,), optional
        Length normalisation (see `scale`); default none.

    >>> result = outcome(np.log([0.1, 0.3, 0.1]), gold=1, rule="top")
    >>> round(result.confidence, 6), result.correct, round(result.mass, 6)
    (0.6, 1, 0.5)
    """
    scores = log_probs if divisor is None else log_probs / divisor
    shares = np.exp(scores - scores.max())
    probs = shares / shares.sum()
    predicted = int(np.argmax(probs))
    spoken = predicted if rule == "top" else 0
    mass = float(min(1.0, np.exp(log_probs).sum()))
    tied = int((probs == probs[predicted]).sum()) > 1
    return Outcome(probs, predicted, float(min(1.0, probs[spoken])), int(spoken == gold), mass, tied)


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows with their outcome, in the order of the questions; failed rows apart.

    ``outcomes`` has one per item; ``failed`` is row number to reason.
    """

    items: tuple[Item, ...]
    outcomes: tuple[Outcome, ...]
    failed: Mapping[int, str]

    def columns(self) -> tuple[dict[str, list], dict[str, list]]:
        """Return our columns and those of the metadata, each a list in the order of the items."""
        own = {
            "id": [item.id for item in self.items],
            "text": [item.text for item in self.items],
            "confidence": [result.confidence for result in self.outcomes],
            "correct": [result.correct for result in self.outcomes],
            "predicted": [result.predicted for result in self.outcomes],
            "choices": [list(item.choices) for item in self.items],
            "choice_probs": [result.probs.tolist() for result in self.outcomes],
            "candidate_mass": [result.mass for result in self.outcomes],
            "answer_index": [item.gold for item in self.items],
        }
        return own, metadata_columns(self.items, own)

    def table(self) -> pl.DataFrame:
        """Return the columns as a data frame."""
        own, beside = self.columns()
        return pl.DataFrame(own | beside, schema_overrides={"correct": pl.Int8, "predicted": pl.Int16}, strict=False)

    def triples(self, hidden: np.ndarray) -> Triples:
        """Return triples with the hidden states as X and the metadata, ``candidate_mass`` and ``predicted`` beside."""
        if not self.items:
            first = next(iter(self.failed.items()), (None, "there are none"))
            raise InputError(
                f"none of the {len(self.failed)} questions could be scored; the first is row {first[0]}: {first[1]}"
            )
        own, beside = self.columns()
        beside |= {name: own[name] for name in ("candidate_mass", "predicted")}
        triples = Triples.of(
            hidden,
            confidence=own["confidence"],
            correct=own["correct"],
            text=own["text"],
            metadata={name: np.asarray(values) for name, values in beside.items()},
        )
        shown = "; ".join(f"row {row}: {reason}" for row, reason in list(self.failed.items())[:SHOWN])
        more = "; ..." if len(self.failed) > SHOWN else ""
        notes = (f"{len(self.failed)} rows could not be scored and were left out ({shown}{more})",)
        rows = np.array([item.row for item in self.items])
        return replace(triples, row=rows, notes=notes if self.failed else ())


def assemble(
    items: Sequence[Item],
    encoded: Sequence[Encoded],
    log_probs: Mapping[int, np.ndarray],
    failed: Mapping[int, str],
    form: str,
) -> Scored:
    """Judge the rows whose log-probabilities are there, by row number."""
    n_tokens = {row.row: np.array([len(ids) for ids in row.added]) for row in encoded}
    kept = tuple(item for item in items if item.row in log_probs)
    results = tuple(
        outcome(
            log_probs[item.row],
            gold=item.gold,
            rule=item.rule,
            divisor=scale(form, item.candidates, n_tokens[item.row]),
        )
        for item in kept
    )
    return Scored(kept, results, dict(sorted(failed.items())))


# --- asking a model --------------------------------------------------------------------------------------------------


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
    questions: Sequence[Question] | Sequence[PreferencePair],
    *,
    form: str = "letter",
    template: str | None = None,
    seed: int = 0,
) -> list[Item]:
    """Make items of questions or of pairs (see `question_items` and `pair_items`)."""
    kinds = {type(question) for question in questions}
    if kinds == {PreferencePair}:
        if form != "letter":
            raise InputError(f"form must be letter for preference pairs; got {form!r}")
        return pair_items(questions, template=template or DEFAULTS["preference"], seed=seed)
    if kinds == {Question}:
        return question_items(questions, template=template or DEFAULTS["choice"], form=form)
    names = sorted(kind.__name__ for kind in kinds) or "nothing"
    raise InputError(f"questions must be a sequence of Question or of PreferencePair; got {names}")


def evaluate_items(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    batch_tokens: int | None = None,
) -> tuple[list[Encoded], BatchAnswers]:
    """Put items to a model, all in memory; return their token ids and what the model said."""
    encoded, failed = encode(items, model.tokenize, max_length=model.max_length, n_lead=model.n_lead)
    runner, answers = Runner(model), BatchAnswers(failed=failed)
    if batch_tokens is None:
        batch_tokens = default_batch_tokens(str(getattr(model, "device", "cpu")))
    for batch in plan(encoded, batch_tokens):
        runner.run(batch, answers)
    return encoded, answers


def judge(
    items: Sequence[Item], encoded: Sequence[Encoded], answers: BatchAnswers, form: str = "letter"
) -> tuple[Scored, np.ndarray]:
    """Judge what the model said; return the scored rows and their hidden states, float32 (n_scored, width)."""
    scored = assemble(items, encoded, answers.log_probs, answers.failed, form)
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
    asked = as_model(model)
    scored, hidden = judge(items, *evaluate_items(asked, items, batch_tokens=batch_tokens), form)
    triples = scored.triples(hidden)
    heard = (f"the tokenizer warns: {warning}" for warning in getattr(asked, "warnings", ()))
    return replace(triples, notes=(*triples.notes, *heard))
