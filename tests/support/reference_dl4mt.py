"""dl4mt's session 2 and Theano-Nematus in NumPy and float64, one sentence at a time, by the names in their files.

Nothing of the project is used. ids are theirs: 0 ends a sentence, 1 is the unknown word.
"""

import numpy as np

SIZES = {"S": 17, "T": 19, "E": 5, "H": 3, "D": 7, "A": 11}  # our encoder and decoder may differ; theirs have H = D


def checkpoint(seed=0, tied=False, one_vocabulary=False, constant="decoder_c_tt", **sizes):
    """Random float32 parameters under their names. tied: Nematus' output layer is the target embeddings."""
    s, t, e, h, d, a = (sizes.get(name, SIZES[name]) for name in "STEHDA")
    c = 2 * h
    shapes = {"Wemb": (s, e)}
    if not one_vocabulary:
        shapes["Wemb_dec"] = (t, e)
    for prefix, n in (("encoder", h), ("encoder_r", h), ("decoder", d)):
        shapes |= {f"{prefix}_W": (e, 2 * n), f"{prefix}_b": (2 * n,), f"{prefix}_U": (n, 2 * n)}
        shapes |= {f"{prefix}_Wx": (e, n), f"{prefix}_bx": (n,), f"{prefix}_Ux": (n, n)}
    shapes |= {"ff_state_W": (c, d), "ff_state_b": (d,)}
    shapes |= {"decoder_U_nl": (d, 2 * d), "decoder_b_nl": (2 * d,), "decoder_Ux_nl": (d, d), "decoder_bx_nl": (d,)}
    shapes |= {"decoder_Wc": (c, 2 * d), "decoder_Wcx": (c, d), "decoder_W_comb_att": (d, a)}
    shapes |= {"decoder_Wc_att": (c, a), "decoder_b_att": (a,), "decoder_U_att": (a, 1), constant: (1,)}
    for name, size in (("lstm", d), ("prev", e), ("ctx", c)):
        shapes |= {f"ff_logit_{name}_W": (size, e), f"ff_logit_{name}_b": (e,)}
    if not tied:
        shapes["ff_logit_W"] = (e, t)
    shapes["ff_logit_b"] = (t,)
    random = np.random.default_rng(seed)
    return {name: random.uniform(-0.9, 0.9, shape).astype(np.float32) for name, shape in shapes.items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Reference:
    """The equations of gru_layer, gru_cond_layer and the readout, as in the cGRU note and with its biases.

    scale: 0.5 where dl4mt was trained with use_dropout, whose readout is halved when it translates.
    """

    def __init__(self, parameters, scale=1.0):
        self.p = {name: value.astype(np.float64) for name, value in parameters.items()}
        self.target = self.p.get("Wemb_dec", self.p["Wemb"])
        self.output = self.p.get("ff_logit_W", self.target.T)
        self.scale = scale

    def gru(self, prefix, x, h):
        n = len(h)
        gates = sigmoid(x @ self.p[f"{prefix}_W"] + self.p[f"{prefix}_b"] + h @ self.p[f"{prefix}_U"])
        r, u = gates[:n], gates[n:]
        candidate = np.tanh(x @ self.p[f"{prefix}_Wx"] + self.p[f"{prefix}_bx"] + r * (h @ self.p[f"{prefix}_Ux"]))
        return u * h + (1 - u) * candidate

    def start(self, source):
        """Annotations (words, 2H) of ``source``, which ends with 0, and s_0."""
        embedded = self.p["Wemb"][source]
        forward, backward = [], []
        for prefix, words, states in (("encoder", embedded, forward), ("encoder_r", embedded[::-1], backward)):
            h = np.zeros(len(self.p["encoder_Ux"]))
            for x in words:
                h = self.gru(prefix, x, h)
                states.append(h)
        annotations = np.concatenate([np.array(forward), np.array(backward[::-1])], axis=1)
        return annotations, np.tanh(annotations.mean(axis=0) @ self.p["ff_state_W"] + self.p["ff_state_b"])

    def step(self, word, annotations, s):
        """log p of every next word, the attention weights, and s_j; ``word`` is None before the first."""
        p, n = self.p, len(s)
        y = np.zeros(p["Wemb"].shape[1]) if word is None else self.target[word]
        s = self.gru("decoder", y, s)
        hidden = np.tanh(annotations @ p["decoder_Wc_att"] + p["decoder_b_att"] + s @ p["decoder_W_comb_att"])
        constant = p.get("decoder_c_tt", p.get("decoder_c_att"))
        energies = np.exp((hidden @ p["decoder_U_att"])[:, 0] + constant)
        alpha = energies / energies.sum()
        c = alpha @ annotations
        gates = sigmoid(s @ p["decoder_U_nl"] + p["decoder_b_nl"] + c @ p["decoder_Wc"])
        r, u = gates[:n], gates[n:]
        candidate = np.tanh(c @ p["decoder_Wcx"] + r * (s @ p["decoder_Ux_nl"] + p["decoder_bx_nl"]))
        s = u * s + (1 - u) * candidate
        hidden = s @ p["ff_logit_lstm_W"] + p["ff_logit_lstm_b"]
        hidden += y @ p["ff_logit_prev_W"] + p["ff_logit_prev_b"] + c @ p["ff_logit_ctx_W"] + p["ff_logit_ctx_b"]
        logits = self.scale * np.tanh(hidden) @ self.output + p["ff_logit_b"]
        return logits - np.log(np.exp(logits).sum()), alpha, s

    def score(self, source, target):
        """log p of every word of ``target``, which ends with 0; the attention weights (words, source words)."""
        annotations, s = self.start(source)
        log_probs, weights, word = [], [], None
        for following in target:
            log_p, alpha, s = self.step(word, annotations, s)
            log_probs.append(log_p[following])
            weights.append(alpha)
            word = following
        return np.array(log_probs), np.array(weights)

    def search(self, source, beam, longest):
        """The finished hypothesis with the best mean log p of its words, 0 included, and that mean.

        Every step keeps the ``beam`` best continuations of all. Hypotheses of ``longest`` words end there, and lose to
        all finished ones.
        """
        annotations, s = self.start(source)
        live, ended, cut = [(0.0, [], s)], [], []
        for length in range(1, longest + 1):
            grown = []
            for score, words, s in live:
                log_p, _, following = self.step(words[-1] if words else None, annotations, s)
                grown += [(score + log_p[word], [*words, word], following) for word in np.argsort(-log_p)[:beam]]
            grown = sorted(grown, key=lambda one: -one[0])[:beam]
            ended += [(score / length, words[:-1]) for score, words, _ in grown if words[-1] == 0]
            live = [one for one in grown if one[1][-1] != 0]
            cut = [(score / length, words) for score, words, _ in live]
            if not live:
                break
        return max(ended or cut, key=lambda one: one[0])


def lively(seed, **form):
    """Parameters whose translations are neither empty nor endless: an output that tells words apart, and ends."""
    parameters = checkpoint(seed, **form)
    for name in ("decoder_Wc", "decoder_Wcx", "decoder_W", "decoder_Wx", "ff_logit_prev_W"):
        parameters[name] *= 3
    if "ff_logit_W" in parameters:
        parameters["ff_logit_W"] *= 4
    parameters["ff_logit_b"][0] += 1
    return parameters
