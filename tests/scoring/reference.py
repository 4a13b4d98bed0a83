"""A plain loop over questions and candidates, one full sequence at a time; shares no code with the scorer."""

from __future__ import annotations

import numpy as np
import torch


def multiple_choice_prompt(question: str, choices) -> str:
    """The paper's prompt, written out by hand."""
    lines = [f"{'ABCDEFGHIJ'[number]}. {choice}" for number, choice in enumerate(choices)]
    return "Question: " + question + "\n\n" + "\n".join(lines) + "\n\nThe correct answer is:"


@torch.no_grad()
def candidate_log_probs(model, tokenizer, prompt: str, candidates) -> np.ndarray:
    """Sum of the log-probabilities of the tokens that each candidate adds to the prompt."""
    start = len(tokenizer(prompt)["input_ids"])
    sums = []
    for candidate in candidates:
        ids = torch.tensor([tokenizer(prompt + candidate)["input_ids"]])
        log_probs = torch.log_softmax(model(input_ids=ids).logits[0].double(), dim=-1)
        sums.append(sum(log_probs[at - 1, ids[0, at]].item() for at in range(start, ids.shape[1])))
    return np.array(sums)


@torch.no_grad()
def last_hidden_state(model, tokenizer, prompt: str) -> np.ndarray:
    """Last of the hidden states the model reports, at the last prompt token."""
    ids = torch.tensor([tokenizer(prompt)["input_ids"]])
    return model(input_ids=ids, output_hidden_states=True).hidden_states[-1][0, -1].double().numpy()
