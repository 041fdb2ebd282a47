"""Score a run on one of its data's splits, or one Pharaoh file against another.

python src/evaluate.py run=RUN [split=test]
python src/evaluate.py alignments=hyp.talp gold=gold.talp [gold_base=1]
"""

from pathlib import Path

from omegaconf import DictConfig
from unrolled.metrics.alignment import alignment_scores, read_alignments

from unrolled.configuration import build_data, command, load_translator, read_config
from unrolled.errors import UserError
from unrolled.metrics.translation import bleu_by_length, translation_scores
from unrolled.training.results import show_results

EDGES = (0, 10, 20, 30, 40, 50)  # of source lengths in words, for BLEU by length


@command("evaluate")
def main(config: DictConfig) -> None:
    if config.alignments is not None or config.gold is not None:
        evaluate_alignments(config)
    else:
        evaluate_run(config)


def evaluate_alignments(config: DictConfig) -> None:
    if config.alignments is None or config.gold is None:
        raise UserError("alignments=FILE and gold=FILE go together: name both Pharaoh files")
    found = read_alignments(Path(config.alignments))
    gold = read_alignments(Path(config.gold), base=config.gold_base)
    if len(found) != len(gold):
        raise UserError(
            f"{config.alignments} has {len(found)} lines and {config.gold} has {len(gold)}: they must agree"
        )
    show_results(alignment_scores([sure for sure, _ in found], gold)._asdict())


def evaluate_run(config: DictConfig) -> None:
    run = read_config(config.run)
    translator = load_translator(config.run, config.search, config.device, config.max_tokens)
    data = build_data(run)
    sources, references = data.sources(config.split), data.references(config.split)
    hypotheses = translator.translate(sources)
    scores = translation_scores(
        hypotheses, references, tokenize=run.data.bleu_tokenize, lowercase=run.data.bleu_lowercase
    )
    likelihood = translator.likelihood(sources, references)
    results = {"split": config.split, "sentences": len(sources)}
    results |= {"bleu": scores.bleu, "chrf": scores.chrf, "ter": scores.ter}
    results |= {"loss": likelihood.loss, "perplexity": likelihood.perplexity}
    if (gold := data.alignments(config.split)) is not None:
        results |= translator.alignment_scores(sources, references, read_alignments(gold))
    lengths = [len(source.split()) for source in sources]
    for part in bleu_by_length(hypotheses, references, lengths, EDGES, tokenize=run.data.bleu_tokenize):
        results[f"bleu, {part.low} to {part.high} source words ({part.sentences})"] = part.bleu
    results |= {f"{name}_signature": signature for name, signature in scores.signatures.items()}
    show_results(results)


if __name__ == "__main__":
    main()
