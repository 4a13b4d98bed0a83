"""Tiny random models of the paper's architectures, a tokenizer, and a plain loop without any code of the scorer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

CORPUS = [
    "Question: What is the capital of France?\n\nA. Paris\nB. Rome\nC. Berlin\nD. Madrid\n\nThe correct answer is: A",
    "Act as an impartial judge and evaluate the quality of two candidate responses. Response A or Response B.",
    "How many legs has a spider? eight six four ten. Which word comes next in the list of the numbers one two three?",
] * 3


def save_tokenizer(folder: Path) -> int:
    """Train a byte-level BPE with a leading special token; return the size of its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<bos>", "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", pad_token="<pad>").save_pretrained(folder)
    return tokenizer.get_vocab_size()


SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
}
WINDOW = {"sliding_window": 16}  # shorter than the prompts, so that local attention is at work
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def _qwen3(vocabulary: int):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(vocab_size=vocabulary, **SIZES))


def _llama(vocabulary: int):
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, tie_word_embeddings=True, **SIZES))


def _gemma3_text(vocabulary: int):
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    layers = ["sliding_attention", "sliding_attention", "full_attention"]
    return Gemma3ForCausalLM(Gemma3TextConfig(vocab_size=vocabulary, layer_types=layers, **WINDOW, **SIZES))


def _gemma3(vocabulary: int):
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    layers = ["sliding_attention", "sliding_attention", "full_attention"]
    text = {"vocab_size": vocabulary, "layer_types": layers, **WINDOW, **SIZES}
    vision = {**VISION, "image_size": 28, "patch_size": 14}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4, image_token_index=3)
    return Gemma3ForConditionalGeneration(config)


def _ministral3(vocabulary: int):
    from transformers import Mistral3Config, Mistral3ForConditionalGeneration

    text = {"model_type": "ministral3", "vocab_size": vocabulary, **SIZES}
    vision = {"model_type": "pixtral", **VISION, "image_size": 28, "patch_size": 14, "head_dim": 8}
    return Mistral3ForConditionalGeneration(Mistral3Config(text_config=text, vision_config=vision, image_token_index=3))


ARCHITECTURES = {
    "qwen3": _qwen3,
    "llama": _llama,
    "gemma3_text": _gemma3_text,
    "gemma3": _gemma3,
    "ministral3": _ministral3,
}


def save_model(name: str, folder: Path) -> Path:
    """Save a random model of one architecture with its tokenizer, as safetensors."""
    vocabulary = save_tokenizer(folder)
    torch.manual_seed(sorted(ARCHITECTURES).index(name))
    model = ARCHITECTURES[name](vocabulary).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # initial weights give nearly flat predictions
    model.save_pretrained(folder)
    return folder


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
