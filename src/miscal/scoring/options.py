"""How a model is asked: every option of ``miscal score`` beside the model, the task and the folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from miscal.base.options import number, parameter
from miscal.base.threads import LARGEST_SEED

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
    form: Literal["letter", "text", "text_per_token", "text_per_byte"] | None = parameter(
        "What the model is asked to weigh: the letters, or the texts of the answers."
    )
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
