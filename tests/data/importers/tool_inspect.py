"""Run by an interpreter that has inspect_ai: write logs of its mock model into the folder named first."""

import math
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

SENT = {"A": 0.4, "B": 0.3, "C": 0.2, "D": 0.05}
"""What the model always believes of the letters it is sent; it says A."""

QUESTIONS = [
    Sample(id=f"q{i}", input=f"Question {i}?", choices=["red", "green", "blue", "grey"], target="ABCD"[i % 4])
    for i in range(8)
]


def output(*, logprobs):
    def told(text, top):
        entries = [TopLogprob(token=name, logprob=math.log(p)) for name, p in top.items()]
        return Logprob(token=text, logprob=math.log(top[text]), top_logprobs=entries)

    letters = {f"\u0120{letter}": p for letter, p in SENT.items()}
    content = [told("ANSWER", {"ANSWER": 0.9, "x": 0.1}), told(":", {":": 0.9, "x": 0.1}), told("\u0120A", letters)]
    said = ChatCompletionChoice(
        message=ChatMessageAssistant(content="ANSWER: A", source="generate"),
        stop_reason="stop",
        logprobs=Logprobs(content=content) if logprobs else None,
    )
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it fetches a tokenizer to count them
    return ModelOutput(model="mock", choices=[said], usage=usage)


def run(name, *, log_format="eval", shuffle=False, epochs=1, logprobs=True):
    solver = multiple_choice(shuffle=True) if shuffle else multiple_choice()
    task = Task(name=name, dataset=MemoryDataset(QUESTIONS, name="colours"), solver=solver, scorer=choice())
    model = get_model("mockllm/model", custom_outputs=[output(logprobs=logprobs) for _ in range(8 * epochs)])
    eval(task, model=model, log_dir=f"{sys.argv[1]}/{name}", log_format=log_format, epochs=epochs, display="none")


run("packed")
run("json", log_format="json")
run("shuffled", shuffle=True)
run("epochs", epochs=2)
run("bare", logprobs=False)
