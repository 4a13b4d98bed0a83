"""A language model of the transformers library behind the scorer's protocol."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch

from miscal.base.errors import FileError, InputError, MiscalError, ResourceError, TrustError
from miscal.scoring.engine import Encoded, Evaluated, ran_out_of_memory
from miscal.scoring.forward import Picker, evaluate, refuse_incomplete, refuse_unused_gguf, spread_over, weight_bytes
from miscal.scoring.model_source import (
    ATTEMPTS,
    ModelSpec,
    asks_for_code,
    choose_dtype,
    first_line,
    locate,
    redact,
    retried,
)

T = TypeVar("T")

DEVICES = ("cpu", "cuda", "mps", "xpu")
HIDDEN_STATE = "input of the output layer (after the final norm) at the last prompt token"


class HuggingFaceText:
    """The part of a model that needs no weights: configuration and tokenizer.

    Attributes
    ----------
    source : ModelSource
        Where the model is, with its pinned revision.
    device : torch.device
    dtype : torch.dtype
    max_length : int
        Tokens the model takes.
    n_lead : int
        Special tokens the tokenizer puts in front.
    warnings : tuple of str
        What transformers warned of while it loaded the tokenizer.
    """

    def __init__(self, spec: ModelSpec) -> None:
        from transformers import AutoConfig, AutoTokenizer

        self.spec = spec
        self.source = locate(spec)
        self.device = device_of(spec.device)
        self.dtype = choose_dtype(spec.dtype, self.device)
        self.config = loaded(lambda: AutoConfig.from_pretrained(self.source.location, **self.options()), self)
        if not spec.trust_remote_code and asks_for_code(self.config.to_dict()):
            raise TrustError(
                f"model {spec.model}: would run code that comes with it; if you trust it, add --trust-remote-code"
            )
        heard: list[str] = []
        self._tokenizer = loaded(
            lambda: AutoTokenizer.from_pretrained(self.source.location, **self.options()), self, heard
        )
        self.warnings = tuple(dict.fromkeys(heard))
        self.max_length = int(getattr(self.config.get_text_config(), "max_position_embeddings", None) or 2048)
        bare, full = self._tokenizer("a", add_special_tokens=False).input_ids, self._tokenizer("a").input_ids
        self.n_lead = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        self._trail = len(full) - self.n_lead - len(bare)

    def pinned(self) -> ModelSpec:
        """Return the settings with revision, dtype and threads decided, for the processes that load the weights."""
        dtype, threads = str(self.dtype).removeprefix("torch."), self.spec.threads or torch.get_num_threads()
        revision = self.spec.revision if self.source.local else self.source.revision
        return replace(self.spec, dtype=dtype, revision=revision, threads=threads)

    def options(self) -> dict[str, Any]:
        """Return what every ``from_pretrained`` is called with."""
        gguf = {"gguf_file": self.source.gguf_file} if self.source.gguf_file else {}
        place = {"local_files_only": True} if self.source.local else {"revision": self.source.revision}
        return {"trust_remote_code": self.spec.trust_remote_code, **gguf, **place}

    @cached_property
    def room(self) -> dict[int | str, int] | None:
        """Memory of the devices that the weights are spread over; None where they fit on one."""
        if self.device.type != "cuda":
            return None
        code = {"trust_remote_code": self.spec.trust_remote_code}
        n_bytes = weight_bytes(_auto_class(self.config), self.config, self.dtype, **code)
        return spread_over(n_bytes, self.device, redact(self.spec.model))

    def describe(self) -> dict[str, object]:
        """Return what a manifest records of the model."""
        import transformers

        return {
            "model": redact(self.spec.model),
            "revision": self.source.revision,
            "architecture": (self.config.architectures or [self.config.model_type])[0],
            "dtype": str(self.dtype).removeprefix("torch."),
            "head_dtype": "float32",
            "device": self.device.type,
            "max_length": self.max_length,
            "hidden_state": HIDDEN_STATE,
            "trust_remote_code": self.spec.trust_remote_code,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts to ids, with the tokenizer's default special tokens in front and none behind."""
        ids = self._tokenizer(list(texts)).input_ids if texts else []
        return [row[: len(row) - self._trail] for row in ids] if self._trail else ids


class HuggingFaceModel(HuggingFaceText):
    """A causal language model with its weights loaded.

    Parameters
    ----------
    spec : ModelSpec
    text : HuggingFaceText, optional
        Configuration and tokenizer already loaded for the same spec.

    Attributes
    ----------
    width : int
        Size of the hidden state.

    Raises
    ------
    FileError, TrustError, InputError
        See `HuggingFaceText`.
    ResourceError
        If the weights do not fit in memory.
    """

    def __init__(self, spec: ModelSpec, *, text: HuggingFaceText | None = None) -> None:
        if text is None:
            super().__init__(spec)
        else:
            self.__dict__.update(vars(text))
        _refuse_missing(self.device)
        self._model = self._load_model().eval()
        head = self._model.get_output_embeddings()
        if head is None:
            raise InputError(f"model {spec.model}: the model has no output layer; give a causal language model")
        self._picker = Picker(self._model, self.device)
        self.width = int(head.weight.shape[1])

    def _load_model(self) -> Any:
        options = self.options() | {"dtype": self.dtype, "output_loading_info": True, "ignore_mismatched_sizes": True}
        options |= _unpacked() if self.source.gguf_file else {"use_safetensors": True}
        if self.room:
            options |= {"device_map": "auto", "max_memory": self.room}
        build = _auto_class(self.config)
        network, report = loaded(lambda: build.from_pretrained(self.source.location, **options), self)
        refuse_incomplete(report, redact(self.spec.model))
        if self.source.gguf_file:
            refuse_unused_gguf(Path(self.source.location) / self.source.gguf_file, network, redact(self.spec.model))
        # where it is spread, each part is where it belongs, and inputs are brought to it
        return network if self.room else loaded(lambda: network.to(self.device), self)

    def evaluate(self, batch: Sequence[Encoded]) -> Evaluated:
        """Score a batch (see `miscal.scoring.forward.evaluate`)."""
        with _threads(self.spec.threads):
            return evaluate(self._picker, batch)


def device_of(name: str) -> torch.device:
    """Turn the name of a device into the device; "auto" is the first GPU if there is one, else the CPU.

    >>> device_of("cuda:1")
    device(type='cuda', index=1)
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.partition(":")[0] in DEVICES:
        with contextlib.suppress(RuntimeError):
            return torch.device(name)
    raise InputError(f"device must be auto, {', '.join(DEVICES)}, or one of these with a number (cuda:1); got {name!r}")


def _refuse_missing(device: torch.device) -> None:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(
            f"device {str(device)!r} is not available ({first_line(error)}); give another one, e.g. --device cpu"
        ) from error


@contextlib.contextmanager
def _threads(count: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    if count:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _unpacked() -> dict[str, Any]:
    """Ask for plain dense weights: newer transformers keep GGUF blocks packed, which is ten times slower."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}


def _auto_class(config: Any) -> Any:
    """Take the text-and-image class for multimodal checkpoints that have no causal class; text alone is given to it."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    kind = config.model_type
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return AutoModelForImageTextToText
    return AutoModelForCausalLM


def loaded(call: Callable[[], T], text: HuggingFaceText, heard: list[str] | None = None) -> T:
    """Load with bars and advice of transformers silenced, or kept where they are to be heard; its errors become ours.

    Only a hub is asked again.
    """
    name = text.spec.model
    try:
        with _hearing([] if heard is None else heard):
            return retried(call, f"model {name}", attempts=1 if text.source.local else ATTEMPTS)
    except MiscalError:
        raise
    except Exception as error:
        if ran_out_of_memory(error):
            raise ResourceError(f"model {name}: the weights do not fit in memory") from error
        raise FileError(f"model {name}: {type(error).__name__}: {first_line(error)}") from error


class _Listener(logging.Handler):
    """Keeps what is logged, each message once, in one line and without secrets."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(" ".join(redact(record.getMessage()).split()))


@contextlib.contextmanager
def _hearing(heard: list[str]) -> Iterator[None]:
    """Keep the warnings of transformers, which are not to be printed by it; nor are its bars."""
    from transformers.utils import logging as theirs

    logger, level, bars = theirs.get_logger("transformers"), theirs.get_verbosity(), theirs.is_progress_bar_enabled()
    printers: list[logging.Handler] = logger.handlers
    logger.handlers = [_Listener(heard)]
    theirs.set_verbosity_warning()
    theirs.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # bars that listen to no switch
            yield
    finally:
        theirs.set_verbosity(level)
        logger.handlers = printers
        if bars:
            theirs.enable_progress_bar()
