"""Draw sentences from a language model.

Usage:
    python src/sample.py run=LM [name=value ...] > sentences

Examples:
    python src/sample.py run=LM
    python src/sample.py run=LM number=100 search.temperature=0.7
    python src/sample.py run=LM search.top_p=0.9 search.seed=2
"""

import sys

import torch
from omegaconf import DictConfig

from unrolled.configuration.build import build_search
from unrolled.configuration.command import command
from unrolled.configuration.load import load_language_model
from unrolled.data.batch import make_source_batch
from unrolled.errors import UserError
from unrolled.inference.precision import autocast
from unrolled.search.sampling import Sampling


@command("sample")
def main(config: DictConfig) -> None:
    if not config.search._target_.endswith(Sampling.__name__):
        raise UserError("sample.py draws: omit search=..., or give search=sampling")
    language_model = load_language_model(config)
    model, tokenizer = language_model.model, language_model.tokenizer
    sampling = build_search(config, tokenizer)
    for start in range(0, config.number, config.batch):
        sentences = range(start, min(start + config.batch, config.number))
        batch = make_source_batch([[]] * len(sentences), sentences)  # <s> alone
        limits = torch.full((len(sentences),), config.max_length)
        with autocast(language_model.device, config.precision):
            drawn = sampling.draw(model, batch.to(language_model.device), limits)
        for hypothesis in drawn:
            sys.stdout.write(tokenizer.decode(hypothesis.tokens) + "\n")
        sys.stdout.flush()
