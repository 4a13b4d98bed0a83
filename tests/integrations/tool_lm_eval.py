"""Run by an interpreter that has lm_eval, torch and transformers: a tiny random model and questions like MMLU's."""

import json
import random
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from miscal.integrations.lm_eval import FOLDER

out, n = Path(sys.argv[1]), int(sys.argv[2])
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({one: place for place, one in enumerate(letters)}, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=letters[0]).save_pretrained(out / "model")
torch.manual_seed(0)
sizes = GPT2Config(
    vocab_size=len(letters),
    n_positions=512,
    n_embd=16,
    n_layer=1,
    n_head=2,
    initializer_range=0.4,
    bos_token_id=0,
    eos_token_id=0,
)
GPT2LMHeadModel(sizes).save_pretrained(out / "model")

rng = random.Random(0)
rows = [
    {"question": f"What is {k} plus 1?", "choices": [str(k + j) for j in range(4)], "answer": rng.randrange(4)}
    for k in range(n)
]
(out / "mmlu.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
(out / "tasks").mkdir()
(out / "tasks" / "mmlu_local.yaml").write_text(
    f"""include: {FOLDER}/mmlu_calibration.yaml
task: mmlu_local
dataset_path: json
dataset_name: null
dataset_kwargs: {{data_files: {{test: {out}/mmlu.jsonl}}}}
fewshot_split: null
"""
)
