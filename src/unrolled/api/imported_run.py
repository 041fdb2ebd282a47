"""Run folders made of what other programs wrote, as import_weights.py and arpa.py do."""

import os
from os import PathLike
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from unrolled.api.loading import load
from unrolled.api.torch_settings import usual_settings
from unrolled.api.trained_run import TrainedRun
from unrolled.configuration.build import build_model
from unrolled.configuration.composition import composed, one_line, options_of
from unrolled.configuration.load import load_translator
from unrolled.configuration.values import to_yaml
from unrolled.errors import UserError
from unrolled.files import write_text
from unrolled.imported.dictionary import vocabularies
from unrolled.imported.dl4mt import is_tied, read_parameters, translated
from unrolled.imported.nematus_options import output_scale, read_options
from unrolled.inspection.snapshot import add_snapshot
from unrolled.ngram.arpa import load_arpa
from unrolled.runs.provenance import write_provenance
from unrolled.runs.results import write_results
from unrolled.runs.weights import save_weights
from unrolled.text.lines import check_same_length, read_lines, sha256
from unrolled.text.tokenizer import fingerprint, save_tokenizers

PLAIN = {"device": "cpu", "precision": "32-true", "max_tokens": 2000, "ensemble": None}  # for look.py's few sentences
UNKNOWN = "no {0} text was named: import it with {0}='[SOURCE,TARGET]'"


def import_weights(
    file: str | PathLike[str],
    source_dictionary: str | PathLike[str],
    target_dictionary: str | PathLike[str],
    to: str | PathLike[str] | None = None,
    **options: Any,
) -> TrainedRun:
    """A run folder from a checkpoint (.npz) of dl4mt-tutorial's session 2 or of Theano-Nematus; returns the run.

    Dictionaries are JSON; what is pickled is never opened. to: the run folder, outputs/<name of the file> if None.
    options: of import_weights.py, such as use_dropout=True or test=["a.en", "a.de"]. UserError: another model, a folder
    that is a run already.
    """
    given = {"from": file, "source_dictionary": source_dictionary, "target_dictionary": target_dictionary, "to": to}
    with one_line():
        return load(imported_translator(composed("import_weights", options_of(given | options))))


def import_arpa(file: str | PathLike[str], to: str | PathLike[str]) -> TrainedRun:
    """The run folder ``to`` from an ARPA file, plain or gzipped; returns the run. UserError: no sound ARPA file."""
    with one_line():
        return load(imported_ngrams(composed("arpa", options_of({"file": file, "to": to}))))


@usual_settings()
def imported_ngrams(config: DictConfig) -> Path:
    """The run folder from the ARPA file that ``config`` of arpa.py names."""
    folder = Path(config.to)
    _check_new(folder)
    model, tokenizer = load_arpa(config.file)
    config.imported.model.order = model.order
    save_tokenizers(folder / "tokenizer", None, tokenizer)
    save_weights(model, folder / "weights.safetensors", {"tokenizer.target": tokenizer.sha256})
    write_text(folder / "config.yaml", to_yaml(config.imported))
    return folder


@usual_settings()
def imported_translator(config: DictConfig) -> Path:
    """The run folder from the checkpoint that ``config`` of import_weights.py names."""
    files = {name: config[name] for name in ("from", "source_dictionary", "target_dictionary")}
    for name, file in files.items():
        if not isinstance(file, str):
            raise UserError(f"{name}=FILE is missing: give from=model.npz, source_dictionary= and target_dictionary=")
    checkpoint = Path(config["from"])
    folder = Path(config.to or Path("outputs") / checkpoint.stem)
    _check_new(folder)
    text = {split: _pair_of_files(config, split) for split in ("val", "test")}
    scale = output_scale(read_options(Path(f"{checkpoint}.json")), config.use_dropout, checkpoint)
    parameters, sizes = read_parameters(checkpoint)
    dictionaries = Path(config.source_dictionary), Path(config.target_dictionary)
    codes = [None if path is None else Path(path) for path in (config.source_codes, config.target_codes)]
    tokenizers = source, target = vocabularies(dictionaries, (sizes["S"], sizes["T"]), (codes[0], codes[1]))

    run = config.imported
    run.attention.size = sizes["A"]
    given = {"embedding_size": sizes["E"], "encoder_size": sizes["H"], "decoder_size": sizes["D"]}
    run.model = OmegaConf.merge(run.model, given, {"tied_target_embeddings": is_tied(parameters, scale)})
    unknown = {split: [UNKNOWN.format(split)] * 2 for split in ("train", "val", "test")}
    run.data.corpus = OmegaConf.merge(run.data.corpus, unknown, {split: pair for split, pair in text.items() if pair})
    model = build_model(run, source_vocabulary=source.size, target_vocabulary=target.size)
    model.load_state_dict(translated(parameters, scale))

    save_tokenizers(folder / "tokenizer", *tokenizers)
    save_weights(model, folder / "weights.safetensors", fingerprint(*tokenizers))
    digests = {name: sha256(file) for name, file in files.items()}
    write_provenance(folder, fingerprint=digests | fingerprint(*tokenizers))
    count = sum(parameter.numel() for parameter in model.parameters())
    write_results(folder, {"status": "completed", **run.choices, "parameters": count})
    write_text(folder / "config.yaml", to_yaml(run))
    if pair := text["val"] or text["test"]:
        try:
            translator = load_translator(OmegaConf.create({"run": str(folder), **PLAIN}))
            lines = [list(read_lines(file)) for file in pair]
            add_snapshot(folder, translator, "val" if text["val"] else "test", *lines)
        except BaseException:
            (folder / "config.yaml").unlink()  # no run without it: the command can be repeated
            raise
    return folder


def _check_new(folder: Path) -> None:
    if (folder / "config.yaml").exists():
        raise UserError(f"to={folder}: this folder already holds a run; name a new one")


def _pair_of_files(config: DictConfig, split: str) -> list[str] | None:
    """The files of ``split``, absolute. UserError: not two, or of different lengths."""
    if config[split] is None:
        return None
    pair = [str(file) for file in config[split]] if OmegaConf.is_list(config[split]) else []
    if len(pair) != 2:
        raise UserError(f"{split}={config[split]}: give two files, '[SOURCE,TARGET]'")
    check_same_length(*pair)
    return [os.path.abspath(file) for file in pair]
