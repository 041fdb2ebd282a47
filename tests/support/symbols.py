"""From the package's parameters to the symbols of the equations: the only place that knows names and layouts."""

from functools import partial

import numpy as np
import pytest

from support import reference_equations as reference


def require_equations(attention, model="cgru"):
    """Skip the test of what has no equations in `reference_equations` yet."""
    for name, known in ((attention, {"none", *reference.ATTENTIONS}), (model, reference.DECODERS)):
        if name not in known:
            pytest.skip(f"tests/support/reference_equations.py has no equations of {name}: write them there")


def array(tensor):
    return tensor.detach().numpy()


def blocks(tensor, names):
    """``tensor`` cut along its rows into equal blocks, one a name."""
    return dict(zip(names, np.split(array(tensor), len(names)), strict=True))


def cell(name, module):
    if name == "tanh":
        return {"W": array(module.input.weight), "b": array(module.input.bias), "U": array(module.recurrent.weight)}
    gates = {"gru": ["_r", "_u", ""], "gru_reset_after": ["_r", "_z", ""], "lstm": ["_i", "_f", "_o", ""]}[name]
    p = blocks(module.input.weight, ["W" + gate for gate in gates])
    p |= blocks(module.input.bias, ["b" + gate for gate in gates])
    if name == "gru":
        p |= blocks(module.recurrent_gates.weight, ["U_r", "U_u"]) | {"U": array(module.recurrent.weight)}
    else:
        p |= blocks(module.recurrent.weight, ["U" + gate for gate in gates])
    return p


def attention(name, module):
    if name == "dot":
        return {}
    if name == "general":
        return {"W_a": array(module.keys.weight)}
    p = {"v_a": array(module.energy.weight)[0]}
    if name in ("gru_att", "gru_att_pooled"):
        p |= blocks(module.query.weight, ["W_r", "W_z", "W"])
        p |= blocks(module.keys.weight, ["Q_r", "Q_z", "Q"]) | blocks(module.keys.bias, ["b_r", "b_z", "b"])
        return p | blocks(module.recurrent_gates.weight, ["U_r", "U_z"]) | {"U": array(module.recurrent.weight)}
    p |= {"W_a": array(module.query.weight), "U_a": array(module.keys.weight), "b_a": array(module.keys.bias)}
    if name == "location":
        p |= {"V_a": array(module.features.weight), "F": array(module.filters.weight)}
    if name == "location_extrapolating":
        p |= {"W_l": array(module.input.weight), "b_l": array(module.input.bias)}
        for symbol, layer in (("rho", module.mean), ("sigma", module.deviation), ("m", module.mixture)):
            p |= {f"W_{symbol}": array(layer.weight), f"b_{symbol}": array(layer.bias)}
    if name == "coverage":
        p["V_a"] = array(module.coverage.weight)
        # one matrix over the concatenated input [alpha; h; s]
        parts = [module.update_weight.weight, module.update_annotation.weight, module.update_query.weight]
        whole = np.concatenate([array(part) for part in parts], axis=1)
        gru = dict(zip(["W_r", "W_u", "W"], np.split(whole, 3), strict=True))
        gru |= blocks(module.update_annotation.bias, ["b_r", "b_u", "b"])
        gru |= blocks(module.recurrent_gates.weight, ["U_r", "U_u"]) | {"U": array(module.recurrent.weight)}
        p["gru"] = gru
    return p


def attend(name, module):
    """The reference attention with ``module``'s parameters."""
    return partial(reference.ATTENTIONS[name], attention(name, module))


def decoder(name, module, attention_name, cell_name):
    if name == "rnnsearch":
        p = cell("gru", module.cell)
        p = {symbol.replace("_u", "_z"): value for symbol, value in p.items()}
        p |= blocks(module.context.weight, ["C_r", "C_z", "C"])
        p |= {"W_s": array(module.initial.weight), "b_s": array(module.initial.bias)}
    else:
        p = {"W_init": array(module.initial.weight), "b_init": array(module.initial.bias)}
    if name == "encoder_decoder":
        inner = cell("gru_reset_after", module.cell)
        for symbol, of_context in blocks(module.context.weight, ["W_r", "W_z", "W"]).items():
            inner[symbol] = np.concatenate([inner[symbol], of_context], axis=1)
        return p | {"cell": inner}
    p["attention"] = attend(attention_name, module.attention)
    if name == "cgru":
        p |= {"rec1": cell("gru_reset_after", module.rec1), "rec2": cell("gru_reset_after", module.rec2)}
    if name == "bahdanau":
        parts = [array(module.combine_embedding.weight), array(module.combine_context.weight)]
        if module.input_feeding:
            parts.append(array(module.combine_fed.weight))
            attentional = [array(module.attentional_context.weight), array(module.attentional_state.weight)]
            p["W_c"] = np.concatenate(attentional, axis=1)
        p |= {"L1": np.concatenate(parts, axis=1), "b_1": array(module.combine_embedding.bias)}
        p |= {"cell": cell(cell_name, module.cell), "cell_name": cell_name}
    return p


def readout(name, module):
    p = {"W_out": array(module.output.weight), "b_out": array(module.output.bias)}
    if name == "bahdanau":
        return p
    symbols = ["U_o", "V_o", "C_o"] if name == "rnnsearch" else ["W_s", "W_y", "W_c"]
    parts = [module.state.weight, module.embedding.weight, module.context.weight]
    return p | {"b_t": array(module.state.bias)} | {s: array(part) for s, part in zip(symbols, parts, strict=True)}


def encode(module, inputs):
    """Annotations by the reference encoder with ``module``'s parameters."""
    if hasattr(module, "gru"):
        return reference.bidirectional(reference.gru_two_biases, encoder(module), inputs)
    cells = zip(module.forward_cells, module.backward_cells, strict=True)
    p = [(cell("gru", forward), cell("gru", backward)) for forward, backward in cells]
    return reference.bidirectional(reference.gru_reset_before_encoder, p, inputs)


def encoder(module):
    """A (forward, backward) pair a layer, from ``nn.GRU``'s documented layout: rows r, z, n; two biases."""
    layers = []
    for layer in range(module.gru.num_layers):
        pair = []
        for direction in ("", "_reverse"):
            ih, hh = (getattr(module.gru, f"weight_{kind}_l{layer}{direction}") for kind in ("ih", "hh"))
            b_ih, b_hh = (getattr(module.gru, f"bias_{kind}_l{layer}{direction}") for kind in ("ih", "hh"))
            p = blocks(ih, ["W_r", "W_z", "W"]) | blocks(hh, ["U_r", "U_z", "U"]) | blocks(b_ih, ["b_r", "b_z", "b"])
            inner = blocks(b_hh, ["b_r", "b_z", "b"])
            p |= {"b_r": p["b_r"] + inner["b_r"], "b_z": p["b_z"] + inner["b_z"], "b_inner": inner["b"]}
            pair.append(p)
        layers.append(tuple(pair))
    return layers


def translate(model, name, attention_name, cell_name, source, target_in):
    """Log-probabilities ``(T, V)`` and weights ``(T, S)`` of one unpadded sentence pair by the reference equations."""
    sources = [array(model.source_embedding.weight)[word] for word in source]
    targets = [array(model.target_embedding.weight)[word] for word in target_in]
    annotations = encode(model.encoder, sources)
    steps = reference.DECODERS[name](decoder(name, model.decoder, attention_name, cell_name), annotations, targets)
    p = readout(name, model.readout)
    log_probs = [
        reference.log_softmax(p["W_out"] @ reference.READOUTS[name](p, s, c, y) + p["b_out"])
        for (s, c, _), y in zip(steps, targets, strict=True)
    ]
    return np.array(log_probs), np.array([alpha for _, _, alpha in steps])
