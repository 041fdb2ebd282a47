"""rescore.py as a user runs it."""

import pytest
from support.run_contents import corpus, sacrebleu
from support.scripts import call_script


def test_nbest_lists_are_rescored_and_weights_tuned(other_language_model, moved, trained, tmp_path):
    folder, elsewhere = moved
    source, target = (corpus(trained.parent, "val", side) for side in ("source", "target"))
    options = [f"run={folder}", "nbest=4", "search.beam_size=6"]
    lists = call_script("translate.py", *options, cwd=elsewhere, text=source.read_text(encoding="utf-8")).stdout
    (tmp_path / "nbest").write_text(lists, encoding="utf-8")
    entries = [line.split(" ||| ") for line in lists.splitlines()]
    scorers = f"scorers={{lm: '{other_language_model}', again: '{folder}'}}"
    common = [f"nbest={tmp_path / 'nbest'}", scorers, f"source={source}", "bleu_tokenize=none"]
    judged = call_script("rescore.py", *common, cwd=tmp_path).stdout
    figures = [dict(figure.split("=") for figure in line.split(" ||| ")[2].split()) for line in judged.splitlines()]
    texts = "".join(f"{entry[1]}\n" for entry in entries)
    alone = call_script("score.py", f"run={other_language_model}", cwd=tmp_path, text=texts).stdout.split()
    assert [float(row["lm"]) for row in figures] == pytest.approx([float(value) for value in alone], abs=1e-4)
    # not logp: a translation that reached the longest length has no </s> in it
    sources = source.read_text(encoding="utf-8").splitlines()
    (tmp_path / "sources").write_text("".join(f"{sources[int(entry[0])]}\n" for entry in entries), encoding="utf-8")
    (tmp_path / "texts").write_text(texts, encoding="utf-8")
    pairs = [f"run={folder}", f"source={tmp_path / 'sources'}", f"target={tmp_path / 'texts'}"]
    forced = call_script("score.py", *pairs, cwd=tmp_path).stdout.split()
    assert [float(row["again"]) for row in figures] == pytest.approx([float(value) for value in forced], abs=1e-4)
    assert [int(float(row["words"])) for row in figures] == [len(entry[1].split()) for entry in entries]

    (tmp_path / "judged").write_text(judged, encoding="utf-8")
    again = [f"nbest={tmp_path / 'judged'}", "bleu_tokenize=none"]
    tuned = call_script("rescore.py", *again, f"reference={target}", cwd=tmp_path).stdout.strip()
    chosen = call_script("rescore.py", *again, f"weights={tuned}", cwd=tmp_path).stdout
    assert len(chosen.splitlines()) == 12
    (tmp_path / "chosen").write_text(chosen, encoding="utf-8")
    first = [entry[1] for number, entry in enumerate(entries) if number == 0 or entry[0] != entries[number - 1][0]]
    (tmp_path / "first").write_text("".join(f"{line}\n" for line in first), encoding="utf-8")
    assert sacrebleu(target, tmp_path / "chosen", "none") >= sacrebleu(target, tmp_path / "first", "none")
    by_hand = call_script("rescore.py", *again, "weights={lm: 1}", "output=nbest", cwd=tmp_path).stdout.splitlines()
    assert [line.split(" ||| ")[3] for line in by_hand[:4]] == sorted((row["lm"] for row in figures[:4]), key=float)[
        ::-1
    ]
    unused = call_script("rescore.py", *again, "precision=bf16-mixed", cwd=tmp_path)
    assert (unused.status, "without scorers nothing uses it" in unused.stderr) == (2, True)
    refused = call_script("rescore.py", *common[:2], cwd=tmp_path)
    assert (refused.status, "source=FILE is missing" in refused.stderr) == (2, True)
    untuned = call_script("rescore.py", *again, "restarts=3", cwd=tmp_path)
    assert (untuned.status, "only with reference=FILE" in untuned.stderr) == (2, True)
