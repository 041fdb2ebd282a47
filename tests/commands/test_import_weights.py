"""import_weights.py as a user runs it, on checkpoints made under dl4mt's and Nematus' names."""

import json
import math
import pickle

import numpy as np
import pytest
from support.reference_dl4mt import Reference, checkpoint, lively
from support.scripts import call_script

from unrolled.configuration.values import read_config
from unrolled.inspection import record

SOURCES = ["s2 s5 s3", "s9 never s16 s4", "s7", "s8 s8 s2 s13 s10 s6"]
SOURCE_IDS = [[2, 5, 3, 0], [9, 1, 16, 4, 0], [7, 0], [8, 8, 2, 13, 10, 6, 0]]
TARGETS = ["t3 t18", "t7 never t2 t5", "t11", "t4 t4 t4"]
TARGET_IDS = [[3, 18, 0], [7, 1, 2, 5, 0], [11, 0], [4, 4, 4, 0]]
IMPORT = ["from=model.npz", "source_dictionary=s.json", "target_dictionary=t.json"]


def write(folder, parameters, letters="st", **more):
    """The files of a checkpoint, and of the texts."""
    np.savez(folder / "model.npz", **parameters, **more)
    sizes = [len(parameters["Wemb"]), len(parameters["ff_logit_b"])]
    for letter, name, size in zip(letters, "st", sizes, strict=True):
        ids = {"eos": 0, "UNK": 1} | {f"{letter}{number}": number for number in range(2, size)}
        (folder / f"{name}.json").write_text(json.dumps(ids), encoding="utf-8")
    for name, lines in (("source", SOURCES), ("target", TARGETS)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture(params=[{}, {"constant": "decoder_c_att", "tied": True}], ids=["dl4mt", "Nematus"])
def imported(request, tmp_path):
    """The folder of an imported run, and its parameters."""
    parameters = lively(3, **request.param)
    write(tmp_path, parameters, zipped_params=np.array([{}], dtype=object), history_errs=np.array([9.5]))
    text = ["val=[source,target]", "test=[source,target]"]
    done = call_script("import_weights.py", *IMPORT, *text, "to=run", cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "run\n", "")
    return tmp_path, parameters


def text_of(ids):
    return " ".join("<unk>" if number == 1 else f"t{number}" for number in ids)


@pytest.mark.parametrize("beam", [1, 4])
def test_it_translates_as_the_reference_does(imported, beam):
    folder, parameters = imported
    search = ["search=greedy"] if beam == 1 else [f"search.beam_size={beam}", "nbest=1"]
    lines = "".join(f"{line}\n" for line in SOURCES)
    done = call_script("translate.py", "run=run", "device=cpu", *search, cwd=folder, text=lines)
    reference = Reference(parameters)
    expected = [reference.search(ids, beam, 2 * len(ids) + 10)[1] for ids in SOURCE_IDS]
    assert done.stdout.splitlines() == [text_of(ids) for ids in expected]
    assert len({len(ids) for ids in expected}) > 1


def test_it_scores_as_the_reference_does(imported):
    folder, parameters = imported
    more = ["source=source", "target=target", "detail=tokens", "weights=weights.npz"]
    done = call_script("score.py", "run=run", "device=cpu", *more, cwd=folder)
    reference = Reference(parameters)
    with np.load(folder / "weights.npz") as file:
        weights = dict(file)
    for number, line in enumerate(done.stdout.splitlines()):
        log_probs, alpha = reference.score(SOURCE_IDS[number], TARGET_IDS[number])
        found = json.loads(line)["tokens"]
        assert [piece for piece, _ in found] == [*TARGETS[number].replace("never", "<unk>").split(), "</s>"]
        # float32 has seven digits
        np.testing.assert_allclose([log_p for _, log_p in found], log_probs, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(weights[str(number)], alpha, rtol=1e-6, atol=1e-6)


def test_it_is_evaluated_looked_at_and_compared(imported):
    folder, parameters = imported
    done = call_script("evaluate.py", "run=run", "device=cpu", cwd=folder)
    figures = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    reference = Reference(parameters)
    log_probs = np.concatenate([reference.score(*pair)[0] for pair in zip(SOURCE_IDS, TARGET_IDS, strict=True)])
    (loss,) = [float(value) for name, value in figures.items() if name.strip() == "loss"]
    assert math.isclose(loss, -log_probs.mean(), rel_tol=1e-3)  # it is printed with four digits
    assert call_script("look.py", "runs=run", cwd=folder).stdout == "run/attention.html\n"
    (snapshot,) = record.read(folder / "run")
    assert [sentence["text"] for sentence in snapshot["sentences"]] == SOURCES
    facts = json.loads((folder / "run" / "provenance.json").read_text())["sha256"]
    assert {"from", "source_dictionary", "tokenizer.source", "tokenizer.target"} <= set(facts)
    done = call_script("compare.py", "runs=run", "bootstrap=2", "randomization=2", "output=.", cwd=folder)
    assert done.status == 0, done.stderr


def test_use_dropout_halves_the_readout(tmp_path):
    parameters = lively(3)
    write(tmp_path, parameters)
    call_script("import_weights.py", *IMPORT, "use_dropout=true", "to=half", cwd=tmp_path)
    (tmp_path / "model.npz.json").write_text('{"use_dropout": true}')
    call_script("import_weights.py", *IMPORT, "to=json", cwd=tmp_path)
    scored = [
        call_script("score.py", f"run={run}", "device=cpu", "source=source", "target=target", cwd=tmp_path).stdout
        for run in ("half", "json")
    ]
    assert scored[0] == scored[1]
    reference = Reference(parameters, scale=0.5)
    expected = [reference.score(*pair)[0].sum() for pair in zip(SOURCE_IDS, TARGET_IDS, strict=True)]
    np.testing.assert_allclose([float(line) for line in scored[0].splitlines()], expected, rtol=0, atol=5e-6)


def test_pieces_are_joined_and_words_are_cut_by_codes(tmp_path):
    parameters = lively(3)
    write(tmp_path, parameters)
    ids = {"eos": 0, "UNK": 1} | {f"p{number}" + "@@" * (number % 2): number for number in range(2, 19)}
    (tmp_path / "t.json").write_text(json.dumps(ids))
    lines = "".join(f"{line}\n" for line in SOURCES)
    reference = Reference(parameters)
    expected = [reference.search(ids, 4, 2 * len(ids) + 10)[1] for ids in SOURCE_IDS]
    pieces = [" ".join("<unk>" if n == 1 else f"p{n}" + "@@" * (n % 2) for n in ids) for ids in expected]
    call_script("import_weights.py", *IMPORT, "to=run", cwd=tmp_path)
    done = call_script("translate.py", "run=run", "search.beam_size=4", "alignments=a", cwd=tmp_path, text=lines)
    joined = [f"{line} ".replace("@@ ", "").strip() for line in pieces]
    assert done.stdout.splitlines() == joined
    linked = [link.split("-") for line in (tmp_path / "a").read_text().splitlines() for link in line.split()]
    assert len(linked) == sum(len(line.split()) for line in joined)  # a link for every word, not for every piece
    # codes that join the letters and digits of every second word
    (tmp_path / "codes").write_text("#version: 0.2\np 3\np 4</w>\n")
    call_script("import_weights.py", *IMPORT, "to=cut", "target_codes=codes", cwd=tmp_path)
    (tmp_path / "words").write_text("p3p4 p4\n" * len(SOURCES))
    more = ["source=source", "target=words", "detail=tokens"]
    done = call_script("score.py", "run=cut", "device=cpu", *more, cwd=tmp_path)
    tokens = json.loads(done.stdout.splitlines()[0])["tokens"]
    assert [piece for piece, _ in tokens] == ["▁p3", "p4", "▁p4", "</s>"]
    np.testing.assert_allclose(
        [p for _, p in tokens], reference.score(SOURCE_IDS[0], [3, 4, 4, 0])[0], rtol=1e-6, atol=1e-6
    )


def test_a_run_without_texts_says_how_to_name_them(tmp_path):
    write(tmp_path, checkpoint())
    done = call_script("import_weights.py", *IMPORT, cwd=tmp_path)
    assert done.stdout == "outputs/model\n"
    done = call_script("evaluate.py", "run=outputs/model", cwd=tmp_path)
    assert done.status == 2
    assert "no test text was named: import it with test='[SOURCE,TARGET]'" in done.stderr
    read_config(str(tmp_path / "outputs" / "model"))  # names only what a run folder may


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["from=null"], "from=FILE is missing"),
        (["from=none.npz"], "none.npz: there is no such file"),
        (["target_dictionary=t.pkl"], "t.pkl: a pickle can run any code"),
        (["source_dictionary=model.npz"], "model.npz: damaged, or not the file that a run has there"),
        (["from=s.json"], "s.json: damaged"),
        (["val=source"], "val=source: give two files"),
        (["val=[source,none]"], "none: there is no such file"),
        (["target_codes=s.json"], "these are not subword-nmt codes"),
        (["use_dropout=perhaps"], "use_dropout=perhaps: give true, false or null"),
        (["to=there"], "to=there: this folder already holds a run"),
    ],
)
def test_mistakes_end_with_one_line_and_no_run(options, message, tmp_path):
    write(tmp_path, checkpoint())
    (tmp_path / "t.pkl").write_bytes(pickle.dumps({}))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "config.yaml").touch()
    done = call_script("import_weights.py", *IMPORT, "to=run", *options, cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "run").exists()


def test_a_sentence_that_is_too_long_leaves_no_run(tmp_path):
    write(tmp_path, checkpoint())
    (tmp_path / "source").write_text("s2 " * 10_001 + "\n")
    (tmp_path / "target").write_text("t2\n")
    done = call_script("import_weights.py", *IMPORT, "to=run", "val=[source,target]", cwd=tmp_path)
    assert done.status == 2, done.stderr
    (tmp_path / "source").write_text("s2\n")
    done = call_script("import_weights.py", *IMPORT, "to=run", "val=[source,target]", cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "run\n"), done.stderr


class Harm:
    """Pickled, it makes a file where somebody opens it."""

    def __reduce__(self):
        return open, ("harm", "w")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ff_logit_b": np.array([Harm()] * 19)}, "ff_logit_b holds pickled objects, which can run any code"),
        ({"harm": np.array([Harm()])}, "there is a parameter harm, which neither"),
        ({"Wemb": np.full((17, 5), np.nan)}, "Wemb holds NaN or infinity"),
        ({"decoder_U": np.ones((7, 13))}, "decoder_U has the shape (7, 13), not (7, 14)"),
        ({"decoder_U": None}, "there is no decoder_U;"),
    ],
)
def test_a_hostile_archive_is_one_line_and_runs_nothing(changed, message, tmp_path):
    parameters = checkpoint() | changed
    write(tmp_path, {name: array for name, array in parameters.items() if array is not None})
    done = call_script("import_weights.py", *IMPORT, "to=run", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "harm").exists()
    assert not (tmp_path / "run").exists()


def test_a_second_pickled_copy_of_the_weights_is_not_opened(tmp_path):
    write(tmp_path, checkpoint(), zipped_params=np.array([Harm()]))
    assert call_script("import_weights.py", *IMPORT, "to=run", cwd=tmp_path).status == 0
    assert not (tmp_path / "harm").exists()
