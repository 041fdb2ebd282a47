"""Updating the configurations of old run folders: a table of classes that have moved."""

from typing import Any

MOVED = {
    "data.modules.DataModule": "data.module.DataModule",
    "data.tokenizer.SentencePiece": "text.tokenizer.SentencePiece",
    "data.tokenizer.Words": "text.tokenizer.Words",
    "inference.details.Corpus": "inference.details.CorpusFigures",
    "inference.details.Words": "inference.details.WordByWord",
    "models.ngram.additive.AddAlpha": "ngram.additive.AddAlpha",
    "models.ngram.additive.MaximumLikelihood": "ngram.additive.MaximumLikelihood",
    "models.ngram.back_off.Absolute": "ngram.back_off.Absolute",
    "models.ngram.back_off.Katz": "ngram.back_off.Katz",
    "models.ngram.kneser_ney.KneserNey": "ngram.kneser_ney.KneserNey",
    "models.ngram.model.ngram_lm": "ngram.model.ngram_lm",
    "search.sample.Sampling": "search.sampling.Sampling",
    "training.attention_record.AttentionRecord": "training.callbacks.attention_record.AttentionRecord",
    "training.averaging.KeepWeights": "training.callbacks.kept_weights.KeepWeights",
    "training.callbacks.Speed": "training.callbacks.speed.Speed",
    "training.callbacks.StopWhenDiverged": "training.callbacks.divergence.StopWhenDiverged",
    "training.callbacks.ValidationInCheckpoint": "training.callbacks.validation_in_checkpoint.ValidationInCheckpoint",
    "training.callbacks.progress": "training.callbacks.progress.progress",
    "training.details.Corpus": "inference.details.CorpusFigures",
    "training.details.LogProbabilities": "inference.details.LogProbabilities",
    "training.details.Tokens": "inference.details.Tokens",
    "training.details.Words": "inference.details.WordByWord",
    "training.gradient_norms.GradientNorms": "training.callbacks.gradient_norms.GradientNorms",
    "training.loggers.wandb_logger": "training.loggers.wandb.wandb_logger",
    "training.modules.LanguageModeling": "training.language_modeling.LanguageModeling",
    "training.modules.Translation": "training.translation.Translation",
    "training.pictures.Pictures": "training.callbacks.pictures.Pictures",
    "training.saving.SaveProgress": "training.callbacks.saving.SaveProgress",
    "training.supervision.Supervision": "training.alignment_loss.Supervision",
    "training.supervision.cross_entropy": "training.alignment_loss.cross_entropy",
    "training.supervision.squared_error": "training.alignment_loss.squared_error",
}
"""The former and the present name of a ``_target_`` within the package."""

GONE = {
    "data.corpus.ParallelText": {"source_language", "target_language"},
    "training.callbacks.divergence.StopWhenDiverged": {"every"},
}
"""Options that a class had and has no more, by its present name."""

NEW: dict[str, dict[str, Any]] = {"training.callbacks.divergence.StopWhenDiverged": {"limit": 10}}
"""Options that a class did not have and needs now, with the values of conf/."""

KINDS = {
    "training.translation.Translation": "translation",
    "training.language_modeling.LanguageModeling": "language_modeling",
    "training.counting.Counting": "counting",
}
"""``objective.kind`` for configurations that have none."""

PACKAGE = "unrolled."


def brought_up_to_date(config: dict[str, Any]) -> dict[str, Any]:
    """The plain configuration of a run folder, with today's names."""
    config = _moved(config)
    objective = config.get("objective")
    if isinstance(objective, dict) and "kind" not in objective:
        kind = KINDS.get(str(objective.get("_target_")).removeprefix(PACKAGE))
        config["objective"] = ({} if kind is None else {"kind": kind}) | objective
    logger = config.get("logger")
    if isinstance(logger, dict) and "_target_" in logger:  # from when a run had one logger
        config["logger"] = {str(logger["_target_"]).rpartition(".")[2].partition("_")[0].lower(): logger}
    return config


def _moved(node: Any) -> Any:
    if isinstance(node, dict):
        target = _target(node.get("_target_"))
        name = str(target).removeprefix(PACKAGE)
        kept = NEW.get(name, {}) | {key: value for key, value in node.items() if key not in GONE.get(name, set())}
        return {key: target if key == "_target_" else _moved(value) for key, value in kept.items()}
    return [_moved(value) for value in node] if isinstance(node, list) else node


def _target(value: Any) -> Any:
    if not (isinstance(value, str) and value.startswith(PACKAGE)):
        return value
    name = value.removeprefix(PACKAGE)
    return PACKAGE + MOVED.get(name, name)
