"""A run folder, or several as one, with what it can do; what only translators or language models can do says so."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self, cast, overload

from omegaconf import DictConfig

from unrolled.api.judged_sentences import ScoredSentence, TranslatedSentence
from unrolled.api.pair_attention import Matrices, PairAttention
from unrolled.api.records import Records, html_table
from unrolled.api.torch_settings import usual_settings
from unrolled.configuration.composition import one_line
from unrolled.configuration.slots import trusting
from unrolled.configuration.values import read_plain, resolved, run_folders
from unrolled.errors import UserError
from unrolled.runs.folder import short_names
from unrolled.runs.metrics_csv import read_curves
from unrolled.runs.results import read_results

Text = str | Sequence[str]
SHOWN: tuple[str, ...] = (
    "status",
    "model",
    "attention",
    "seed",
    "epochs",
    "parameters",
    "val/loss",
    "val/perplexity",
    "val/bleu",
)
SHOWN += ("val/word_error_rate", "test/word_error_rate", "test/bleu", "test/chrf", "test/perplexity", "test/aer")
PICTURES = 4
"""The most pictures of a run that a notebook shows."""


class TrainedRun:
    """A trained run; several are an ensemble of translators, or a mixture of language models.

    The weights are read when they are first needed, on ``settings.device``. ``settings``: the configuration of
    translate.py or score.py, with the run folders as ``run``; ``given``: the options that it was composed from.
    """

    translates: bool
    """Whether it scores pairs and translates; else it is a language model."""

    def __init__(self, settings: DictConfig, given: Sequence[str] = ()) -> None:
        self.folders = [Path(str(folder)) for folder in run_folders(settings)]
        self._given = list(given)
        self._trust = resolved(settings).get("trust")
        self._settings = settings

    def ready(self) -> Self:
        """This run with its weights read now, not at the first sentence. UserError: it has none, or damaged ones."""
        raise NotImplementedError

    # What it does

    @overload
    def translate(  # type: ignore[overload-overlap]  # text is a sequence of texts, and is never taken as one
        self, sentences: str, *options: str, beam_size: int | None = ..., nbest: None = ..., attention: bool = ...
    ) -> str: ...
    @overload
    def translate(
        self,
        sentences: Sequence[str],
        *options: str,
        beam_size: int | None = ...,
        nbest: None = ...,
        attention: bool = ...,
    ) -> list[str]: ...
    @overload
    def translate(  # type: ignore[overload-overlap]
        self, sentences: str, *options: str, beam_size: int | None = ..., nbest: int, attention: bool = ...
    ) -> Records[TranslatedSentence]: ...
    @overload
    def translate(
        self, sentences: Sequence[str], *options: str, beam_size: int | None = ..., nbest: int, attention: bool = ...
    ) -> list[Records[TranslatedSentence]]: ...
    def translate(
        self,
        sentences: Text,
        *options: str,
        beam_size: int | None = None,
        nbest: int | None = None,
        attention: bool = True,
    ) -> str | list[str] | Records[TranslatedSentence] | list[Records[TranslatedSentence]]:
        """Translations as text, or the ``nbest`` best of each sentence, best first; one for one sentence.

        options: of translate.py, such as "search=greedy" or "search.length_normalization.alpha=0.6"; beam_size is
        search.beam_size. attention: whether hypotheses have theirs, at the cost of decoding them once more. An empty
        sentence has an empty translation. UserError: a language model, an option that does not exist.
        """
        raise self._not_mine("translates nothing: use score and sample, or load a translator")

    @overload
    def score(  # type: ignore[overload-overlap]
        self, sentences: str, targets: str | None = ..., *, context: str | None = ...
    ) -> ScoredSentence: ...
    @overload
    def score(
        self, sentences: Sequence[str], targets: Sequence[str] | None = ..., *, context: str | None = ...
    ) -> Records[ScoredSentence]: ...
    def score(
        self, sentences: Text, targets: Text | None = None, *, context: str | None = None
    ) -> ScoredSentence | Records[ScoredSentence]:
        """How likely a language model finds ``sentences``, or a translator ``targets`` as translations of them.

        context: of a language model, "line", each sentence by itself, or "text", each after all before it; as it was
        trained if None. UserError: targets are missing, or not as many as the sentences.
        """
        raise NotImplementedError

    @overload
    def attend(self, sentences: str, targets: str | None = ...) -> PairAttention: ...  # type: ignore[overload-overlap]
    @overload
    def attend(self, sentences: Sequence[str], targets: Sequence[str] | None = ...) -> Matrices: ...
    def attend(self, sentences: Text, targets: Text | None = None) -> PairAttention | Matrices:
        """Where a translator looks in ``sentences`` while it writes ``targets``; None: its own translations.

        UserError: a language model, a translator without attention.
        """
        raise self._not_mine("has no attention: load a translator")

    def sample(
        self,
        number: int = 10,
        *options: str,
        temperature: float | None = None,
        seed: int | None = None,
        max_length: int | None = None,
    ) -> list[str]:
        """``number`` sentences drawn from a language model; the same ones for the same ``seed``, which is 1 if None.

        options: of sample.py, such as "search.top_k=20"; temperature is search.temperature: below 1 sharper, above 1
        flatter; max_length: the most tokens of a sentence. UserError: a translator.
        """
        raise self._not_mine("draws nothing: translate(..., 'search=sampling') does, or load a language model")

    def evaluate(self, split: str = "test", *options: str, pictures: int | list[int] = 0) -> dict[str, Any]:
        """A translator's figures on its validation or test set, as evaluate.py shows them: BLEU, chrF, TER, AER, ...

        options: of evaluate.py, such as "search.beam_size=10". pictures: how many translations, or which lines by
        numbers from 1, to draw as heat maps into the run folder. UserError: a language model, text that has changed or
        is no longer there.
        """
        raise self._not_mine("has no such figures: load a translator")

    def ablate(
        self, memory: str | Sequence[str] = "all", split: str = "test", *options: str
    ) -> Records[dict[str, Any]]:
        """A translator's figures by source length without its attention's memory, and with a spoiled one.

        memory: zero, freeze, shuffle, lag, several of them, or all; see `unrolled.models.ablation`. The first rows are
        those of the unchanged model. UserError: a language model, an attention that carries no memory.
        """
        raise self._not_mine("has no attention: load a translator")

    def probe(self, split: str = "test", *options: str) -> Records[dict[str, Any]]:
        """How well a linear probe reads off the memory of a translator's attention which source words are translated.

        It is fitted to the validation set. UserError: a language model, an attention that carries no memory, data
        without known links.
        """
        raise self._not_mine("has no attention: load a translator")

    # What becomes of it

    def average(self, which: str = "best", number: int = 5) -> Self:
        """A run with the mean of this one's weights over its ``number`` best validations, or its last ones.

        It is in a folder within this one's, such as average-best-5. UserError: fewer validations were kept.
        """
        from unrolled.api.averaged_run import averaged
        from unrolled.api.loading import load

        with one_line(), self._trusting(), usual_settings():
            folder = averaged(str(self.folder), which, number)
        return cast(Self, load(folder, trust=self._trust))

    def export(self, output: str | PathLike[str]) -> Path:
        """Write ONNX files into the new folder ``output`` and check them, where onnxruntime is installed.

        UserError: an n-gram model, which `save_arpa` writes; onnx or onnxscript is not installed.
        """
        from unrolled.api.exported_run import exported

        with one_line(), self._trusting(), usual_settings():
            return exported(str(self.folder), output)

    def save_arpa(self, file: str | PathLike[str]) -> None:
        """Write an n-gram model as the ARPA ``file``. UserError: any other model."""
        raise self._not_mine("is not an n-gram model, and ARPA files hold only those")

    # What training wrote

    @property
    def folder(self) -> Path:
        """The run folder. UserError: there are several."""
        if len(self.folders) > 1:
            raise UserError(f"these are {len(self.folders)} runs, each with its own folder: see folders")
        return self.folders[0]

    @property
    def results(self) -> dict[str, Any]:
        """results.json: status, figures and facts by name. UserError: the run has not ended."""
        return read_results(self.folder)

    @property
    def status(self) -> str:
        """completed, diverged, interrupted, pruned or failed; incomplete if it still runs or was killed."""
        if (self.folder / "results.json").is_file():
            return str(self.results["status"])
        # an average or an ARPA file's model, which no training made
        whole = (self.folder / "weights.safetensors").is_file() and not (self.folder / "provenance.json").is_file()
        return "completed" if whole else "incomplete"

    @cached_property
    def config(self) -> dict[str, Any]:
        """The resolved configuration, as dictionaries."""
        return read_plain(str(self.folder))

    def curves(self) -> Records[dict[str, Any]]:
        """metrics.csv: a dictionary for each logged step, with the figures logged then; no row if there is none yet."""
        return Records(read_curves(self.folder))

    @property
    def figures(self) -> list[Path]:
        """The pictures that training drew: curves.png, and heat maps of attention such as test-1.png."""
        return sorted((self.folder / "figures").glob("*.png"), key=lambda path: (path.stem != "curves", path.stem))

    # How it looks

    @property
    def name(self) -> str:
        """A short name: the last part of the folder; several are joined by +."""
        return "+".join(short_names([str(folder) for folder in self.folders]))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(map(_from_here, self.folders))}>"

    def _repr_html_(self) -> str:
        if len(self.folders) > 1:
            return escape(repr(self))
        from unrolled.figures.formats import embedded

        results = self.results if (self.folder / "results.json").is_file() else {"status": self.status}
        facts = [(name, results[name]) for name in SHOWN if results.get(name) is not None]
        rows = [[name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in facts]
        pictures = [embedded(path.read_bytes()) for path in self.figures[:PICTURES]]
        title = "/".join(self.folder.parts[-2:])
        return f"<p><b>{escape(title)}</b></p>{html_table([['', ''], *rows])}{''.join(pictures)}"

    def _trusting(self) -> Any:
        return trusting(self._trust)

    def _not_mine(self, does: str) -> UserError:
        return UserError(f"{self.name} {does}")


def folder_of(run: Any) -> str:
    """The folder of a run that is given as a path or as a `TrainedRun`. UserError: anything else, several runs."""
    if isinstance(run, TrainedRun):
        return str(run.folder)
    if isinstance(run, str | PathLike):
        return str(Path(run).absolute())
    raise UserError(f"run={run!r:.80}: give a run folder, or a run that was loaded")


def folders_of(runs: Any) -> list[str]:
    """`folder_of` a run, or of each in a list."""
    return [folder_of(run) for run in runs] if isinstance(runs, list | tuple) else [folder_of(runs)]


def trust_of(runs: Any, trust: str | Iterable[str] | None) -> list[str] | None:
    """``trust``, with the packages that those of the ``runs`` may name that are loaded; None without any."""
    given = trust.split(",") if isinstance(trust, str) else trust or []
    given = given if isinstance(given, Iterable) else [str(given)]  # trust=3, which `trusting` refuses
    loaded = [run for run in (runs if isinstance(runs, list | tuple) else [runs]) if isinstance(run, TrainedRun)]
    return [*dict.fromkeys([*given, *(name for run in loaded for name in run._trust or [])])] or None


def same_kind(sentences: Text, targets: Text) -> Literal[True]:
    """UserError: one is text and the other a list."""
    if isinstance(sentences, str) != isinstance(targets, str):
        raise UserError("sentences and targets go together: give two texts, or two lists")
    return True


def _from_here(folder: Path) -> str:
    """The path as short as `load` accepts it."""
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)
