"""Run by an interpreter that has inspect_ai and miscal: evaluate its mock model, logs into the folder named first."""

import json
import random
import sys

from inspect_ai import Task, eval
from inspect_ai._util.registry import registry_lookup
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer

FOLDER, N = sys.argv[1], int(sys.argv[2])
NAMES = ("smece", "brier", "overconfidence")
smece, brier, overconfidence = (registry_lookup("metric", f"miscal/{one}") for one in NAMES)


@scorer(metrics=[accuracy(), smece(), brier(), overconfidence()])
def says_how_sure():
    async def score(state, target):
        said = json.loads(state.output.completion)
        return Score(value="C" if said["answer"] == target.text else "I", metadata={"confidence": said["sure"]})

    return score


def output(answer, sure):
    made = ModelOutput.from_content("mock", json.dumps({"answer": answer, "sure": sure}))
    made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return made


def run(name, samples, outputs, epochs=1):
    task = Task(name=name, dataset=MemoryDataset(samples, name=name), scorer=says_how_sure())
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = eval(
        task,
        model=model,
        log_dir=FOLDER,
        log_format="json",
        epochs=epochs,
        display="none",
        max_connections=1,
        max_samples=1,
    )
    numbers = {name: one.value for score in log.results.scores for name, one in score.metrics.items()}
    return {"status": log.status, "location": log.location, "numbers": numbers}


rng = random.Random(0)
subjects = ["law" if k % 2 else "sums" for k in range(N)]
sure = [rng.randrange(40, 90) for _ in range(N)]
right = [
    rng.random() < one / 100 + (0.3 if name == "sums" else -0.35) for one, name in zip(sure, subjects, strict=True)
]
samples = [
    Sample(id=k, input=f"A question, number {k}?", target="yes", metadata={"subject": name})
    for k, name in enumerate(subjects)
]
outputs = [output("yes" if one else "no", how) for one, how in zip(right, sure, strict=True)]
told = run("subjects", samples, outputs)
# of one question, once wrong and sure, once right and unsure: their average is one half sure and half right
epochs = run("epochs", samples[:1], [output("no", 100), output("yes", 0)], epochs=2)
print(json.dumps({"subjects": {**told, "right": right, "sure": sure}, "epochs": epochs}))
