"""A trained translator, or an ensemble: translate, score, attend."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from omegaconf import DictConfig

from unrolled.api.judged_sentences import TranslatedSentence, scored_sentence, texts
from unrolled.api.pair_attention import Matrices, pair_attention
from unrolled.api.records import Records
from unrolled.api.torch_settings import usual_settings
from unrolled.api.trained_run import Text, TrainedRun, same_kind
from unrolled.configuration.composition import composed, known, one_line, options_of
from unrolled.configuration.load import load_translator, searching
from unrolled.configuration.ranges import HYPOTHESES
from unrolled.errors import UserError, check
from unrolled.figures.formats import picture_formats
from unrolled.inference.long_lines import shortened
from unrolled.inference.trained_translator import TrainedTranslator

OPTIONS = ("search", "max_length", "longer", "max_tokens", "precision")
OF_EVALUATE = ("search", "formats", "max_tokens", "precision")
NOT_OF_EVALUATE = ("max_length", "longer")


def _sentence(number: int) -> str:
    return f"sentences[{number}]"


class TranslatorRun(TrainedRun):
    """A run that trained a translator, or several with one target vocabulary as an ensemble."""

    translates = True

    @cached_property
    def translator(self) -> TrainedTranslator:
        """The models with their search, on their device."""
        with one_line(), self._trusting(), usual_settings():
            return load_translator(self._settings)

    def ready(self) -> Self:
        """See `TrainedRun.ready`."""
        _ = self.translator
        return self

    def translate(
        self,
        sentences: Text,
        *options: str,
        beam_size: int | None = None,
        nbest: int | None = None,
        attention: bool = True,
    ) -> Any:
        """See `TrainedRun.translate`."""
        settings = self._settings
        if options or beam_size is not None:
            beam = {} if beam_size is None else {"search.beam_size": beam_size}
            chosen = [*known(options, OPTIONS, "translate"), *options_of(beam)]
            settings = composed("translate", [*self._given, *chosen])
        if nbest is not None:
            check("nbest", nbest, HYPOTHESES)
        lists = self.hypotheses(
            texts(sentences),
            count=nbest or 1,
            scored=nbest is not None,
            attention=attention and nbest is not None,
            settings=settings,
        )
        if nbest is None:
            best = [hypotheses[0].text for hypotheses in lists]
            return best[0] if isinstance(sentences, str) else best
        return lists[0] if isinstance(sentences, str) else lists

    @usual_settings()
    def hypotheses(
        self,
        lines: Sequence[str],
        *,
        count: int = 1,
        scored: bool = False,
        attention: bool = False,
        where: Callable[[int], str] = _sentence,
        settings: DictConfig | None = None,
    ) -> list[Records[TranslatedSentence]]:
        """The ``count`` best of each line, best first, by the search of ``settings``, this run's own if None.

        scored: see `TrainedTranslator.translations`. where: the name of a line in messages, by its number from 0.
        """
        settings = self._settings if settings is None else settings
        translator = self.translator
        with one_line(), self._trusting():
            if settings is not self._settings:
                translator = searching(translator, settings)
            tokenizer = translator.members[0].source_tokenizer
            limits = {"max_length": settings.max_length, "longer": settings.longer}
            lines = shortened(lines, tokenizer, **limits, where=where)
            outputs = translator.translations(lines, count, scored=scored)
        pieces = translator.target_tokenizer.pieces
        lists = [
            Records(
                TranslatedSentence(
                    source=line,
                    text=output.text,
                    log_probability=output.hypothesis.log_probability,
                    score=output.hypothesis.score,
                    finished=output.hypothesis.finished,
                    pieces=pieces(output.hypothesis.tokens),
                    ids=output.hypothesis.tokens,
                )
                for output in nbest
            )
            for line, nbest in zip(lines, outputs, strict=True)
        ]
        if not (attention and lists and self.translator.attends and self.translator.cut_alike):
            return lists
        looked = iter(self.attending([best for nbest in lists for best in nbest]))
        return [Records(replace(best, attention=next(looked)) for best in nbest) for nbest in lists]

    @usual_settings()
    def attending(self, hypotheses: Sequence[TranslatedSentence]) -> Matrices:
        """Where the model looked while it wrote each of ``hypotheses``, without memory and gates."""
        sources, ids = [best.source for best in hypotheses], [best.ids for best in hypotheses]
        return Matrices(map(pair_attention, self.translator.attend(sources, ids)))

    @usual_settings()
    def score(self, sentences: Text, targets: Text | None = None, *, context: str | None = None) -> Any:
        """See `TrainedRun.score`."""
        if targets is None:
            raise self._not_mine("is a translator and scores pairs: give their targets too, score(sources, targets)")
        if context is not None:
            raise self._not_mine("is a translator, and context is for language models: omit it")
        sources, lines = self._pairs(sentences, targets)
        scored = self.translator.score(sources, lines)
        scored_lines = Records(scored_sentence(line, pieces) for line, pieces in zip(lines, scored, strict=True))
        return scored_lines[0] if isinstance(sentences, str) else scored_lines

    @usual_settings()
    def attend(self, sentences: Text, targets: Text | None = None) -> Any:
        """See `TrainedRun.attend`."""
        if not self.translator.attends:
            raise self._not_mine("has no attention: its decoder reads the source as a whole")
        if targets is None:
            lines = texts(sentences)
            wanted: Any = [best.hypothesis.tokens for best, *_ in self.translator.translations(lines)]
        else:
            lines, wanted = self._pairs(sentences, targets)
        matrices = Matrices(map(pair_attention, self.translator.attend(lines, wanted, inside=True)))
        return matrices[0] if isinstance(sentences, str) else matrices

    def evaluate(self, split: str = "test", *options: str, pictures: int | list[int] = 0) -> dict[str, Any]:
        """See `TrainedRun.evaluate`."""
        return self.figures_of(self._evaluating(options, split=split, pictures=pictures))

    @usual_settings()
    def figures_of(self, settings: DictConfig) -> dict[str, Any]:
        """What evaluate.py shows with ``settings``."""
        from unrolled.api.evaluation import evaluated  # and sacreBLEU

        picture_formats(settings.formats)
        translator = self.translator
        with one_line(), self._trusting():
            return evaluated(searching(translator, settings), str(self.folders[0]), settings)

    def ablate(self, memory: str | Sequence[str] = "all", split: str = "test", *options: str) -> Any:
        """See `TrainedRun.ablate`."""
        names = list(memory) if isinstance(memory, tuple) else memory
        return self.ablations_of(self._evaluating(options, split=split, memory=names))

    @usual_settings()
    def ablations_of(self, settings: DictConfig) -> Any:
        """What evaluate.py shows with ``settings`` whose ``memory`` is not null."""
        from unrolled.api.memory_ablations import memories_of, memory_ablations  # and sacreBLEU

        memories_of(settings.memory)
        translator = self.translator
        with one_line(), self._trusting():
            return memory_ablations(searching(translator, settings), str(self.folders[0]), settings)

    def probe(self, split: str = "test", *options: str) -> Any:
        """See `TrainedRun.probe`."""
        return self.probe_of(self._evaluating(options, split=split, probe=True))

    @usual_settings()
    def probe_of(self, settings: DictConfig) -> Any:
        """What evaluate.py shows with ``settings`` whose ``probe`` is true."""
        from unrolled.api.memory_probe import memory_probe

        translator = self.translator
        with one_line(), self._trusting():
            return memory_probe(searching(translator, settings), str(self.folders[0]), settings)

    def _evaluating(self, options: Sequence[str], **more: Any) -> DictConfig:
        """The settings of evaluate.py: those of this run, ``options`` and ``more``."""
        given = [option for option in self._given if option.partition(".")[0].partition("=")[0] not in NOT_OF_EVALUATE]
        return composed("evaluate", [*given, *known(options, OF_EVALUATE, "evaluate"), *options_of(more)])

    def _pairs(self, sentences: Text, targets: Text) -> tuple[list[str], list[str]]:
        same_kind(sentences, targets)
        sources, lines = texts(sentences), texts(targets, "targets")
        if len(sources) != len(lines):
            raise UserError(f"{len(sources)} sentences and {len(lines)} targets: give a target for each sentence")
        return sources, lines
