"""Answers of a tiny model, against plain loops; and that neither batches nor breaks change them."""

import math

import numpy as np
import pytest
import torch

from miscal.scoring import FakeModel, HuggingFaceModel, ModelSpec
from miscal.scoring.answer_confidences import SOURCES, Response, most_frequent, normalised
from miscal.scoring.engine import Runner, answer_line, uniforms
from miscal.scoring.open_ended import OpenEnded
from miscal.scoring.questions import OpenQuestion, open_items, render
from miscal.scoring.scorer import plan

ALL = tuple(SOURCES)
ASKING = OpenEnded(ALL, samples=4, temperature=0.7, longest=6, seed=3)


def items(n: int = 7):
    return open_items(
        [OpenQuestion(f"q{row}", f"What is {'the number of ' * (row % 4)}the word {row}?", ()) for row in range(n)],
        template="Question: {question}\nAnswer:",
    )


def responses(model, asking=ASKING, asked=None, budget=500) -> dict[int, Response]:
    encoded, failed = asking.encode(asked or items(), model)
    assert not failed
    found = {}
    for batch in plan(encoded, budget):
        result = Runner(model, asking).run(batch)
        assert not result.failed
        found |= dict(zip(result.rows, map(Response.from_json, result.responses), strict=True))
    return found


@pytest.fixture(scope="module")
def written(llama):
    return responses(llama)


@torch.no_grad()
def plain(model: HuggingFaceModel, prompt: str, stream, temperature: float, longest: int):
    """Write one text, the whole sequence anew for every token."""
    network, ids, log_probs = model._model, model.tokenize([prompt])[0], []
    start = len(ids)
    for step in range(longest):
        logits = network(input_ids=torch.tensor([ids])).logits[0, -1].double()
        if stream is None:
            token = int(logits.argmax())
        else:
            sums = np.cumsum(torch.softmax(logits / temperature, -1).numpy())
            token = int(np.searchsorted(sums / sums[-1], stream[step], side="right"))
        ids.append(token)
        log_probs.append(float(torch.log_softmax(logits, -1)[token]))
        text = model._tokenizer.decode(ids[start:], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        if token == model._tokenizer.eos_token_id or "\n" in text.lstrip():
            break
    return answer_line(text), log_probs


def test_answers_samples_and_likelihood_equal_a_plain_loop(llama, written):
    for item in items():
        text, log_probs = plain(llama, item.prompt, None, 1.0, 6)
        found = written[item.row]
        assert (found.answer.text, found.greedy) == (text, text)
        np.testing.assert_allclose(found.answer.log_probs, log_probs, atol=1e-4)
        likelihood, per_token, _ = SOURCES["likelihood"].read(found).values()
        assert likelihood == pytest.approx(math.prod(math.exp(value) for value in log_probs), rel=1e-3)
        assert per_token == pytest.approx(likelihood ** (1 / len(log_probs)))
        for sample in range(4):
            stream = uniforms(3, item.id, sample, 6)
            assert found.samples[sample] == plain(llama, item.prompt, stream, 0.7, 6)[0]


@torch.no_grad()
def test_p_true_is_the_softmax_of_two_sequences(llama, written):
    for row, item in enumerate(items()):
        prompt = render(SOURCES["p-true"].template, question=item.text, answer=written[row].answer.text)
        start = len(llama.tokenize([prompt])[0])
        sums = []
        for candidate in SOURCES["p-true"].candidates:
            ids = llama.tokenize([prompt + candidate])[0]
            log_probs = torch.log_softmax(llama._model(input_ids=torch.tensor([ids])).logits[0].double(), -1)
            sums.append(sum(float(log_probs[at - 1, ids[at]]) for at in range(start, len(ids))))
        true, false = map(math.exp, sums)
        assert SOURCES["p-true"].read(written[row])["confidence_p_true"] == pytest.approx(
            true / (true + false), abs=1e-4
        )
        assert SOURCES["p-true"].read(written[row])["candidate_mass"] == pytest.approx(true + false, rel=1e-3)


@pytest.mark.promise("D3")
@pytest.mark.parametrize("budget", [1, 10_000])
def test_the_batch_changes_no_text(llama, written, budget):
    for row, found in responses(llama, budget=budget).items():
        before = written[row]
        assert (found.answer.text, found.samples, found.replies) == (before.answer.text, before.samples, before.replies)
        np.testing.assert_allclose(found.answer.log_probs, before.answer.log_probs, atol=1e-4)


def test_every_architecture_writes_what_the_plain_loop_writes(model_folder):
    model = HuggingFaceModel(ModelSpec(str(model_folder), dtype="float32"))
    asking = OpenEnded(("likelihood",), longest=6)
    for row, found in responses(model, asking, items(4)).items():
        text, log_probs = plain(model, items()[row].prompt, None, 1.0, 6)
        assert found.answer.text == text
        np.testing.assert_allclose(found.answer.log_probs, log_probs, atol=1e-3)


def test_the_most_frequent_answer_is_chosen_by_the_first_half():
    asking = OpenEnded(ALL, "most-frequent", samples=7, seed=1)
    for found in responses(FakeModel(), asking, items(40)).values():
        samples = [normalised(text) for text in found.samples]
        assert found.n_choosing == 4
        assert found.answer.text == most_frequent(samples[:4], normalised(found.greedy))


def test_frequency_approaches_the_likelihood_of_one_token_answers():
    """At temperature 1 a sample is the answer with the probability that its likelihood says."""
    for found in responses(FakeModel(), OpenEnded(ALL, samples=3000, longest=1), items(5), 10**9).values():
        frequency, likelihood = (
            SOURCES[name].read(found)[f"confidence_{name}"] for name in ("frequency", "likelihood")
        )
        assert frequency == pytest.approx(likelihood, abs=5 * math.sqrt(0.25 / 3000))


def test_numbers_of_samples_do_not_repeat():
    drawn = np.concatenate([uniforms(seed, name, k, 4) for seed in (0, 1) for name in ("a", "b") for k in range(3)])
    assert len(set(drawn)) == len(drawn)
    assert 0 <= drawn.min() <= drawn.max() < 1
