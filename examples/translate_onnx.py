"""Translate with a model that src/export.py wrote: NumPy and onnxruntime, nothing else.

python examples/translate_onnx.py DIR [BEAM] < in > out

The model's vocabulary is one of words (or of pieces that the input is cut into already). One sentence at a time, beam
search by the mean log-probability of a word, as src/translate.py does it; BEAM is 5, and 1 is greedy search.
"""

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import onnxruntime

BEAM = re.compile("[1-9][0-9]*")


class Translator:
    """The files in ``folder``."""

    def __init__(self, folder):
        if not (folder / "model.json").is_file():
            sys.exit(f"{folder}: there is no model.json; name the folder that src/export.py wrote")
        self.facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        if self.facts["kind"] != "translation":
            sys.exit(f"{folder} holds a language model, which does not translate")
        self.start = onnxruntime.InferenceSession(str(folder / "start.onnx"))
        self.step = onnxruntime.InferenceSession(str(folder / "step.onnx"))
        special = self.facts["special"]
        self.pad, self.bos, self.eos, self.unk = (special[name] for name in ("pad", "bos", "eos", "unk"))
        vocabulary = enumerate(self.facts["source_vocabulary"])
        # <s> in the text is an unknown word, as it is for src/translate.py
        self.ids = {word: number for number, word in vocabulary if number not in special.values()}
        self.words = self.facts["target_vocabulary"]

    def translate(self, line, beam):
        """The best translation of ``line``."""
        words = re.findall(r"[^ \t\r\n\f\v]+", line)  # only ASCII white space separates words
        source = np.array([[*(self.ids.get(word, self.unk) for word in words), self.eos]])
        tensors = self.start.run(None, {"source": source, "lengths": np.array([source.shape[1]])})
        state = dict(zip(self.facts["state"], tensors, strict=True))
        best = self.search(state, beam, longest=2 * source.shape[1] + 10) if words else []
        return " ".join(self.words[number] for number in best)

    def search(self, state, beam, longest):
        """The words of the best finished hypothesis or, if none ends within ``longest`` words, of the best one."""
        live, scores, finished = [[]], np.zeros(1), []
        for length in range(1, longest + 1):
            # a row for each hypothesis: what a step hands on is its own, the parts of the sentence are the same for all
            rows = {name: np.repeat(state[name], len(live), 0) for name in self.facts["sentence"]}
            tokens = np.array([words[-1] if words else self.bos for words in live])
            outputs = self.step.run(None, {"tokens": tokens, **state, **rows})
            by_name = dict(zip(self.facts["next"], outputs, strict=True))
            log_probs = by_name["log_probs"].copy()
            log_probs[:, [self.pad, self.bos]] = -np.inf
            total = (scores[:, None] + log_probs).ravel()
            best = np.argsort(-total, kind="stable")[:beam]
            parents, chosen = np.divmod(best, log_probs.shape[1])
            grown = [(live[parent], int(word)) for parent, word in zip(parents, chosen, strict=True)]
            finished += [
                (total[index] / length, words)
                for index, (words, word) in zip(best, grown, strict=True)
                if word == self.eos
            ]
            kept = chosen != self.eos
            if not kept.any():
                break
            live = [[*words, word] for words, word in grown if word != self.eos]
            scores = total[best][kept]
            for name in self.facts["state"]:
                if name not in self.facts["sentence"]:
                    state[name] = by_name[f"next_{name}"][parents[kept]]
        ended = finished or [(score / length, words) for score, words in zip(scores, live, strict=True)]
        return max(ended, key=lambda one: one[0])[1]


def main():
    """Standard input, line by line, to standard output."""
    beams = sys.argv[2:]
    if len(sys.argv) < 2 or len(beams) > 1 or sys.argv[1].startswith("-") or not all(map(BEAM.fullmatch, beams)):
        sys.exit(__doc__)
    translator = Translator(Path(sys.argv[1]))
    beam = int(beams[0]) if beams else 5
    sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")  # without the mark that some files begin with
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        for line in sys.stdin:
            print(translator.translate(line, beam), flush=True)
    except UnicodeDecodeError as error:
        sys.exit(f"standard input is not UTF-8: {error}")
    except BrokenPipeError:  # the reader, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
