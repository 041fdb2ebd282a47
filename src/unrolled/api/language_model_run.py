"""A trained language model, or a mixture: score, sample."""

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from typing import Any, Self

from omegaconf import DictConfig

from unrolled.api.judged_sentences import scored_sentence, texts
from unrolled.api.records import Records
from unrolled.api.torch_settings import usual_settings
from unrolled.api.trained_run import Text, TrainedRun
from unrolled.configuration.build import build_search
from unrolled.configuration.composition import composed, known, one_line, options_of
from unrolled.configuration.load import load_language_models, load_ngrams
from unrolled.errors import UserError, called
from unrolled.files import appearing, path_of
from unrolled.inference.text_scorer import scorer
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.ngram.arpa import save_arpa
from unrolled.search.sampling import Sampling

OPTIONS = ("search", "max_length", "batch")


class LanguageModelRun(TrainedRun):
    """A run that trained a language model, neural or counted, or several with one vocabulary as a mixture."""

    translates = False

    @cached_property
    def models(self) -> list[TrainedLanguageModel]:
        """The language models, on their device; of a mixture, that alone."""
        with one_line(), self._trusting(), usual_settings():
            return load_language_models(self._settings)

    def ready(self) -> Self:
        """See `TrainedRun.ready`."""
        _ = self.models
        return self

    @usual_settings()
    def score(self, sentences: Text, targets: Text | None = None, *, context: str | None = None) -> Any:
        """See `TrainedRun.score`."""
        if targets is not None:
            raise self._not_mine("is a language model and scores sentences by themselves: omit the targets")
        lines = texts(sentences)
        scored = scorer(self.models[0], context).score(lines)
        scored_lines = Records(scored_sentence(line, pieces) for line, pieces in zip(lines, scored, strict=True))
        return scored_lines[0] if isinstance(sentences, str) else scored_lines

    def sample(
        self,
        number: int = 10,
        *options: str,
        temperature: float | None = None,
        seed: int | None = None,
        max_length: int | None = None,
    ) -> list[str]:
        """See `TrainedRun.sample`."""
        given = {"search.temperature": temperature, "search.seed": seed, "max_length": max_length, "number": number}
        chosen = {name: value for name, value in given.items() if value is not None}
        return list(self.samples(composed("sample", [*known(options, OPTIONS, "sample"), *options_of(chosen)])))

    @usual_settings()
    def save_arpa(self, file: str | PathLike[str]) -> None:
        """See `TrainedRun.save_arpa`."""
        path = path_of("file", file)
        if path.is_dir():
            raise UserError(f"file={path} is a folder: name a file in it")
        with one_line(), self._trusting():
            model, tokenizer = load_ngrams(str(self.folder))
        with appearing(path) as partial, partial.open("w", encoding="utf-8") as stream:
            save_arpa(model, tokenizer, stream)

    def samples(self, settings: DictConfig) -> Iterator[str]:
        """``settings.number`` sentences, drawn ``settings.batch`` at a time. ``settings``: as sample.py has them."""
        model, *others = self.models
        if others:
            weights = f"mixture=..., {len(others) + 1} weights"
            raise UserError(f"run=[...]: sentences are drawn from one model: give {weights}, or one run")
        with one_line(), self._trusting():
            sampling = build_search(settings, model.tokenizer)
        if not isinstance(sampling, Sampling):
            raise UserError(f"{called('sample')} only samples: omit search=..., or give search=sampling")
        for start in range(0, settings.number, settings.batch):
            count = min(settings.batch, settings.number - start)
            with usual_settings():
                drawn = model.sample(sampling, count, max_length=settings.max_length)
            yield from drawn
