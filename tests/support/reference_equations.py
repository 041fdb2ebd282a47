"""The equations again, in NumPy and plain loops, from the papers and notes, for one sentence without padding.

``p`` maps a source's symbols to arrays. Nothing here is taken from the package: no batch, no mask, no fused product.
An attention is ``(p, query, annotations, memory) -> (context, weights, memory)``; ``NO_MEMORY`` starts one.
"""

import numpy as np


def sigma(a):
    return 1.0 / (1.0 + np.exp(-a))


def softmax(energies):
    exponentials = np.exp(energies - np.max(energies))
    return exponentials / exponentials.sum()


def log_softmax(logits):
    return np.log(softmax(logits))


# --- cells: (p, x, state) -> state, state[0] is the output ------------------------------------------------------------


def tanh_cell(p, x, state):
    """Lecture: h_t = tanh(W x_{t-1} + U h_{t-1} + b)."""
    (h,) = state
    return (np.tanh(p["W"] @ x + p["U"] @ h + p["b"]),)


def gru_reset_before(p, x, state):
    """Lecture, and Bahdanau et al. 2015, A.1.1: the reset gate inside the recurrent product."""
    (h,) = state
    u = sigma(p["W_u"] @ x + p["U_u"] @ h + p["b_u"])
    r = sigma(p["W_r"] @ x + p["U_r"] @ h + p["b_r"])
    candidate = np.tanh(p["W"] @ x + p["U"] @ (r * h) + p["b"])
    return ((1.0 - u) * h + u * candidate,)


def gru_reset_after(p, x, state):
    """CGRU note, eqs 2-5: the reset gate outside the recurrent product, z keeps the old state."""
    (s,) = state
    r = sigma(p["W_r"] @ x + p["U_r"] @ s + p["b_r"])
    z = sigma(p["W_z"] @ x + p["U_z"] @ s + p["b_z"])
    proposal = np.tanh(p["W"] @ x + r * (p["U"] @ s) + p["b"])
    return ((1.0 - z) * proposal + z * s,)


def lstm(p, x, state):
    """Lecture: input, forget, output gate, candidate, memory cell, output."""
    h, c = state
    i = sigma(p["W_i"] @ x + p["U_i"] @ h + p["b_i"])
    f = sigma(p["W_f"] @ x + p["U_f"] @ h + p["b_f"])
    o = sigma(p["W_o"] @ x + p["U_o"] @ h + p["b_o"])
    candidate = np.tanh(p["W"] @ x + p["U"] @ h + p["b"])
    c = f * c + i * candidate
    return (o * np.tanh(c), c)


CELLS = {"tanh": tanh_cell, "gru": gru_reset_before, "gru_reset_after": gru_reset_after, "lstm": lstm}
STATES = {"tanh": 1, "gru": 1, "gru_reset_after": 1, "lstm": 2}


# --- attention --------------------------------------------------------------------------------------------------------

NO_MEMORY = None


def weighted(energies, annotations):
    """CGRU note, eqs 6-7: alpha_i = exp(e_i) / sum_k exp(e_k), c = sum_i alpha_i h_i."""
    alpha = np.array([np.exp(e) for e in energies])
    alpha = alpha / sum(alpha)
    context = sum(a * h for a, h in zip(alpha, annotations))
    return context, alpha


def bahdanau(p, s, annotations, memory):
    """Write-up, and Bahdanau et al. 2015, A.1.2: e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j), and a bias."""
    energies = [p["v_a"] @ np.tanh(p["W_a"] @ s + p["U_a"] @ h + p["b_a"]) for h in annotations]
    return *weighted(energies, annotations), NO_MEMORY


def dot(p, s, annotations, memory):
    """Luong et al. 2015: score(s, h) = s^T h."""
    return *weighted([s @ h for h in annotations], annotations), NO_MEMORY


def general(p, s, annotations, memory):
    """Luong et al. 2015: score(s, h) = s^T W_a h."""
    return *weighted([s @ p["W_a"] @ h for h in annotations], annotations), NO_MEMORY


def gru_att(p, s, annotations, memory):
    """Slides, "Attention with GRU", first form: every position j has a v_{i,j} of its own. v_{0,j} = 0."""
    old = [np.zeros_like(p["v_a"]) for _ in annotations] if memory is NO_MEMORY else memory
    new, energies = [], []
    for h, v in zip(annotations, old):
        z = sigma(p["W_z"] @ s + p["U_z"] @ v + p["Q_z"] @ h + p["b_z"])
        r = sigma(p["W_r"] @ s + p["U_r"] @ v + p["Q_r"] @ h + p["b_r"])
        proposal = np.tanh(p["W"] @ s + p["U"] @ (r * v) + p["Q"] @ h + p["b"])
        v = (1.0 - z) * v + z * proposal
        new.append(v)
        energies.append(p["v_a"] @ np.tanh(v))
    return *weighted(energies, annotations), new


def gru_att_pooled(p, s, annotations, memory):
    """Slides, second form, v_{i-1} read as sum_j alpha_{i-1,j} v_{i-1,j}; nothing was looked at before step 1."""
    zero = np.zeros_like(p["v_a"])
    old, alpha = ([zero] * len(annotations), [0.0] * len(annotations)) if memory is NO_MEMORY else memory
    pooled = sum(a * v for a, v in zip(alpha, old))
    new, energies = [], []
    for h, v in zip(annotations, old):
        z = sigma(p["W_z"] @ s + p["U_z"] @ pooled + p["Q_z"] @ h + p["b_z"])
        r = sigma(p["W_r"] @ s + p["U_r"] @ pooled + p["Q_r"] @ h + p["b_r"])
        proposal = np.tanh(p["W"] @ s + p["U"] @ (r * pooled) + p["Q"] @ h + p["b"])
        v = (1.0 - z) * v + z * proposal
        new.append(v)
        energies.append(p["v_a"] @ np.tanh(v))
    context, alpha = weighted(energies, annotations)
    return context, alpha, (new, alpha)


def coverage(p, s, annotations, memory):
    """Tu et al. 2016: e_ij = v_a^T tanh(W_a s + U_a h_j + V_a C_{i-1,j}), C_ij = f(C_{i-1,j}, alpha_ij, h_j, s).

    f is a GRU over the concatenation [alpha; h; s]; its reset gate acts before the recurrent product.
    """
    old = [np.zeros(p["V_a"].shape[1]) for _ in annotations] if memory is NO_MEMORY else memory
    energies = [
        p["v_a"] @ np.tanh(p["W_a"] @ s + p["U_a"] @ h + p["V_a"] @ cov + p["b_a"]) for h, cov in zip(annotations, old)
    ]
    context, alpha = weighted(energies, annotations)
    inputs = [np.concatenate([[a], h, s]) for a, h in zip(alpha, annotations)]
    new = [gru_reset_before(p["gru"], x, (cov,))[0] for x, cov in zip(inputs, old)]
    return context, alpha, new


def location(p, s, annotations, memory):
    """Chorowski et al. 2015: e_ij = w^T tanh(W s + V h_j + U f_ij + b), f_i = F * alpha_{i-1}; alpha_0 = 0.

    A row of F is a filter, whose middle meets position j; outside of the sentence there is nothing.
    """
    before = [0.0] * len(annotations) if memory is NO_MEMORY else list(memory)
    reach, energies = p["F"].shape[1] // 2, []
    for j, h in enumerate(annotations):
        near = [before[k] if 0 <= k < len(before) else 0.0 for k in range(j - reach, j + reach + 1)]
        energies.append(p["v_a"] @ np.tanh(p["W_a"] @ s + p["U_a"] @ h + p["V_a"] @ (p["F"] @ near) + p["b_a"]))
    context, alpha = weighted(energies, annotations)
    return context, alpha, alpha


def location_extrapolating(p, s, annotations, memory):
    """Dubois et al. 2020: a Gaussian over relative positions, whose mean moves by whole words, mixed with content.

    The memory is the mean position of the Gaussian's weights, 0 at first.
    """
    n, before = len(annotations), 0.0 if memory is NO_MEMORY else memory
    w = np.maximum(p["W_l"] @ s + p["b_l"], 0.0)
    step, of_previous, of_end = p["W_rho"] @ w + p["b_rho"]
    whole = np.floor(step)
    step = whole + sigma(20.0 * (step - whole - 0.5))
    word = 1.0 / (n - 1) if n > 1 else 1.0
    mu = step * word + sigma(20.0 * of_previous + 10.0) * before + sigma(20.0 * of_end - 10.0)
    mu = 0.01 * mu if mu < 0.0 else 1.0 + 0.01 * (mu - 1.0) if mu > 1.0 else mu
    (raw,) = p["W_sigma"] @ w + p["b_sigma"]
    deviation = (np.log(1.0 + np.exp(raw)) + 0.27) / n
    near = np.array([np.exp(-((j * word - mu) ** 2) / (2.0 * deviation**2)) for j in range(n)])
    near = near / near.sum()
    _, alike = weighted([p["v_a"] @ np.tanh(p["W_a"] @ s + p["U_a"] @ h + p["b_a"]) for h in annotations], annotations)
    (m,) = sigma(p["W_m"] @ s + p["b_m"])
    alpha = m * near + (1.0 - m) * alike
    return sum(a * h for a, h in zip(alpha, annotations)), alpha, sum(a * j * word for j, a in enumerate(near))


ATTENTIONS = {
    "location": location,
    "location_extrapolating": location_extrapolating,
    "bahdanau": bahdanau,
    "dot": dot,
    "general": general,
    "gru_att": gru_att,
    "gru_att_pooled": gru_att_pooled,
    "coverage": coverage,
}


# --- encoder: (p, inputs) -> annotations ------------------------------------------------------------------------------


def gru_two_biases(p, x, h):
    """The cuDNN form of the reset-after GRU: a second bias inside the reset."""
    r = sigma(p["W_r"] @ x + p["U_r"] @ h + p["b_r"])
    z = sigma(p["W_z"] @ x + p["U_z"] @ h + p["b_z"])
    candidate = np.tanh(p["W"] @ x + p["b"] + r * (p["U"] @ h + p["b_inner"]))
    return (1.0 - z) * candidate + z * h


def gru_reset_before_encoder(p, x, h):
    """RNNsearch's encoder, Bahdanau et al. 2015, A.2.1: the reset gate inside the recurrent product."""
    return gru_reset_before(p, x, (h,))[0]


def bidirectional(gru, p, inputs):
    """h_i = [forward h_i; backward h_i], layer on layer; ``p``: a (forward, backward) pair of symbol maps a layer."""
    for forward, backward in p:
        h, ahead = np.zeros(len(forward["b"])), []
        for x in inputs:
            h = gru(forward, x, h)
            ahead.append(h)
        h, behind = np.zeros(len(backward["b"])), []
        for x in reversed(inputs):
            h = gru(backward, x, h)
            behind.insert(0, h)
        inputs = [np.concatenate(pair) for pair in zip(ahead, behind)]
    return inputs


# --- decoders: (p, annotations, embeddings) -> [(state for the readout, context, weights)] ----------------------------


def cgru(p, annotations, embeddings):
    """CGRU note, eqs 1-12; s_0 = tanh(W mean_i h_i + b) as in dl4mt."""
    s = np.tanh(p["W_init"] @ (sum(annotations) / len(annotations)) + p["b_init"])
    memory, steps = NO_MEMORY, []
    for y in embeddings:
        (s_prime,) = gru_reset_after(p["rec1"], y, (s,))
        c, alpha, memory = p["attention"](s_prime, annotations, memory)
        (s,) = gru_reset_after(p["rec2"], c, (s_prime,))
        steps.append((s, c, alpha))
    return steps


def bahdanau_decoder(p, annotations, embeddings):
    """Write-up: attention from s_{i-1}; k = ReLU(L1 [E y; c]); s_i = RNN(k, s_{i-1}).

    With a W_c input feeding, Luong et al. 2015, eq 5: L1 also sees h~_{i-1}, h~_i = tanh(W_c [c_i; s_i]), h~_0 = 0.
    """
    h = np.tanh(p["W_init"] @ (sum(annotations) / len(annotations)) + p["b_init"])
    state = (h, np.zeros_like(h))[: STATES[p["cell_name"]]]
    memory, steps, fed = NO_MEMORY, [], [np.zeros_like(h)] if "W_c" in p else []
    for y in embeddings:
        c, alpha, memory = p["attention"](state[0], annotations, memory)
        k = np.maximum(0.0, p["L1"] @ np.concatenate([y, c, *fed]) + p["b_1"])
        state = CELLS[p["cell_name"]](p["cell"], k, state)
        fed = [np.tanh(p["W_c"] @ np.concatenate([c, state[0]]))] if fed else []
        steps.append((state[0], c, alpha))
    return steps


def rnnsearch(p, annotations, embeddings):
    """Bahdanau et al. 2015, A.2.2: the readout of step i gets s_{i-1} and c_i."""
    backward_first = annotations[0][len(annotations[0]) // 2 :]
    s = np.tanh(p["W_s"] @ backward_first + p["b_s"])
    memory, steps = NO_MEMORY, []
    for y in embeddings:
        c, alpha, memory = p["attention"](s, annotations, memory)
        steps.append((s, c, alpha))
        z = sigma(p["W_z"] @ y + p["U_z"] @ s + p["C_z"] @ c + p["b_z"])
        r = sigma(p["W_r"] @ y + p["U_r"] @ s + p["C_r"] @ c + p["b_r"])
        proposal = np.tanh(p["W"] @ y + p["U"] @ (r * s) + p["C"] @ c + p["b"])
        s = (1.0 - z) * s + z * proposal
    return steps


def mean_context(p, annotations, embeddings):
    """dl4mt's gru_cond_simple_layer with the mean annotation as its context; weights 1/S."""
    c = sum(annotations) / len(annotations)
    s = np.tanh(p["W_init"] @ c + p["b_init"])
    uniform = np.full(len(annotations), 1.0 / len(annotations))
    steps = []
    for y in embeddings:
        (s,) = gru_reset_after(p["cell"], np.concatenate([y, c]), (s,))
        steps.append((s, c, uniform))
    return steps


DECODERS = {
    "cgru": cgru,
    "bahdanau": bahdanau_decoder,
    "rnnsearch": rnnsearch,
    "encoder_decoder": mean_context,
}


# --- readouts: (p, s, c, y) -> the vector before the last linear map --------------------------------------------------


def deep_readout(p, s, c, y):
    """dl4mt: tanh(W_s s + W_y E y + W_c c), and a bias."""
    return np.tanh(p["W_s"] @ s + p["W_y"] @ y + p["W_c"] @ c + p["b_t"])


def maxout_readout(p, s, c, y):
    """Bahdanau et al. 2015, A.2.2: t = [max(t~_{2j-1}, t~_{2j})]_j, t~ = U_o s + V_o E y + C_o c, and a bias."""
    t = p["U_o"] @ s + p["V_o"] @ y + p["C_o"] @ c + p["b_t"]
    return np.array([max(t[j], t[j + 1]) for j in range(0, len(t), 2)])


def linear_readout(p, s, c, y):
    """Write-up: L2 [s; c]."""
    return np.concatenate([s, c])


READOUTS = {
    "cgru": deep_readout,
    "encoder_decoder": deep_readout,
    "rnnsearch": maxout_readout,
    "bahdanau": linear_readout,
}
