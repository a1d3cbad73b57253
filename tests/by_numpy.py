"""The papers' networks in float64 NumPy, one document at a time, word by word.

Each takes the numbers of a state dict, a config and a document's word ids (HAN: a list of its
sentences' ids); each returns the logits, a list of attentions, and other parts of the output by
name. An attention is a list of rows, each over what its row can see.
"""

import numpy as np
from scipy.special import expit as sigmoid
from scipy.special import softmax


def numbers(model):
    return {name: value.double().numpy() for name, value in model.state_dict().items()}


def positions(length, width):
    """Sines and cosines, place by place and feature by feature."""
    rates = 10000 ** (2 * (np.arange(width) // 2) / width)
    angles = np.arange(length)[:, None] / rates
    return np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles))


def linear(state, name, x):
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def lstm(state, name, x):
    """One direction; the bias is the weights of an input that is 1. States and last cell."""
    w_x, w_h = (state[f"{name}.weight_{part}_l0"] for part in ("ih", "hh"))
    h = c = np.zeros(w_h.shape[1])
    states = []
    for word in x:
        i, f, g, o = np.split(w_x @ np.append(word, 1) + w_h @ h, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states), c


def both_lstms(state, name, x):
    """States of both directions side by side, last states, last cells."""
    right, right_c = lstm(state, f"{name}.forwards", x)
    left, left_c = lstm(state, f"{name}.backwards", x[::-1])
    states = np.concatenate([right, left[::-1]], 1)
    return states, np.concatenate([right[-1], left[-1]]), np.concatenate([right_c, left_c])


def gru_step(state, name, x, h, suffix=""):
    """PyTorch's formula with its gates r, z, n."""
    w_x, w_h, b_x, b_h = (
        state[f"{name}.{part}{suffix}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    (x_r, x_z, x_n), (h_r, h_z, h_n) = np.split(w_x @ x + b_x, 3), np.split(w_h @ h + b_h, 3)
    z = sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(x_n + sigmoid(x_r + h_r) * h_n) + z * h


def both_grus(state, name, x):
    """States of both directions side by side."""
    sides = []
    for suffix, words in (("_l0", x), ("_l0_reverse", x[::-1])):
        h, states = np.zeros(state[f"{name}.weight_hh{suffix}"].shape[1]), []
        for word in words:
            h = gru_step(state, name, word, h, suffix)
            states.append(h)
        sides.append(np.array(states))
    return np.concatenate([sides[0], sides[1][::-1]], 1)


def highway(state, name, x, layers=1):
    for layer in range(layers):
        g = sigmoid(linear(state, f"{name}.gates.{layer}", x))
        x = g * x + (1 - g) * np.maximum(0, linear(state, f"{name}.transforms.{layer}", x))
    return x


def agt(state, config, words):
    b = np.tanh(linear(state, "projection", state["embedding.weight"][words]))
    attention = []
    for layer in range(config.selecting):
        m = np.zeros(len(b))
        if config.attention:
            w, vector = state["attention.weight"][layer], state["attention.vector"][layer]
            m = np.array([vector @ np.tanh(w @ v) for v in b])
        attention.append(softmax(m))
    s = [alpha @ b for alpha in attention]
    y, gates = s[0], []
    for layer in range(1, config.layers):
        transform = state["stack.carried"][layer - 1]
        selected = inputs = y
        if layer < config.selecting:
            selected = s[layer]
            transform = np.hstack([transform, state["stack.selected"][layer - 1]])
            inputs = np.hstack([y, selected])
        gate, bias = state["stack.gate"][layer - 1], state["stack.gate_bias"][layer - 1]
        gates.append(sigmoid(gate @ selected + bias))
        y = np.tanh(transform @ inputs) * gates[-1] + y * (1 - gates[-1])
    hidden = np.maximum(0, linear(state, "classifier.1", y))
    gates = np.array(gates).reshape(config.layers - 1, config.hidden)
    return linear(state, "classifier.4", hidden), [attention], {"gates": gates}


def bilstm(state, config, words):
    x = state["embedding.weight"][words]
    if config.encoder == "average":
        h = np.tanh(linear(state, "encoder", x))
    else:
        h, _, _ = both_lstms(state, "encoder", x)
    u = h / np.sqrt(h.shape[1])
    if config.attention == "tanh":
        u = np.tanh(linear(state, "pooling.projection", h))
    alpha = softmax(u @ state["pooling.contexts"][0])
    return linear(state, "classifier", alpha @ h), [[alpha]], {}


def sanet(state, config, words):
    x = state["embedding.weight"][words]
    if config.positions:
        x = x + positions(*x.shape)
    x, rows = linear(state, "projection", x), []

    def feed_forward(x, name):
        return linear(state, f"{name}.w_2", np.maximum(0, linear(state, f"{name}.w_1", x)))

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]

    for name in (f"blocks.{number}" for number in range(config.blocks)):
        if config.attention:
            scores = x @ state[f"{name}.mixer.w_qk.weight"].T @ x.T
            alpha = [softmax(r / np.sqrt(config.hidden) if config.scaled else r) for r in scores]
            mixed = np.array(alpha) @ x @ state[f"{name}.mixer.w_v.weight"].T
            rows += alpha
        else:
            mixed = feed_forward(x, f"{name}.mixer")
        x = norm(x + mixed, f"{name}.norms.0")
        x = norm(x + feed_forward(x, f"{name}.feed_forward"), f"{name}.norms.1")
    tie = len(set(words.tolist())) < len(words)  # equal words may have the same largest number
    others = {} if tie else {"pooled_from": x.argmax(0)}
    return linear(state, "classifier", x.max(0)), [rows] if rows else [], others


def iram(state, config, words):
    x = state["embedding.weight"][words]
    if config.ngrams:
        grams = [[gram for gram in state["ngrams_of_word"][word] if gram] for word in words]
        table = state["ngrams.weight"]
        means = [table[np.array(g, int)].mean(0) if g else 0 * table[0] for g in grams]
        x = np.concatenate([x, np.array(means)], 1)
    x = highway(state, "highway", x, config.embedding_highway)
    for layer in range(config.context_layers + config.query_layers):
        x, last, q = both_lstms(state, f"encoder.layers.{layer}", x)
        if layer + 1 == config.context_layers:
            h = list(x)

    def classified(x):
        for layer in (1, 3):
            x = linear(state, f"classifier.{layer}.linear", x).reshape(4, -1).max(0)
        return linear(state, "classifier.5", x)

    if not config.steps:
        return classified(last), [], {}
    q, rows, summaries = highway(state, "refine_query", q, int(config.query_highway)), [], []
    for step in range(config.steps):
        rows.append(softmax(np.array([q @ state["steps.attend.weight"] @ key for key in h])))
        found = sum(a * key for a, key in zip(rows[-1], h, strict=True))
        summaries.append(highway(state, "steps.refine", found))
        h.append(summaries[-1])
        if step + 1 < config.steps:
            q = gru_step(state, "steps.controller", summaries[-1], q)
    seen = np.array([np.pad(row, (0, len(rows[-1]) - len(row))) for row in rows])
    overlap = (seen @ seen.T)[~np.eye(len(seen), dtype=bool)].sum()
    others = {"summaries": np.array(summaries)}
    others["penalty"] = config.penalty / (2 * config.steps) * overlap
    return classified(summaries[-1]), [rows], others


def han(state, config, sentences):
    def pooled(name, x):
        """The mean of the states, the hops' mean weights, and Lin et al.'s penalty of the hops."""
        h = both_grus(state, f"{name}.gru.gru", x)
        u = np.tanh(linear(state, f"{name}.pooling.projection", h))
        hops = np.array([softmax(u @ context) for context in state[f"{name}.pooling.contexts"]])
        penalty = np.square(hops @ hops.T - np.eye(len(hops))).sum()
        return hops.mean(0) @ h, hops.mean(0), penalty

    read = [pooled("words", state["embedding.weight"][words]) for words in sentences]
    vectors, alphas, penalties = zip(*read, strict=True)
    document, beta, penalty = pooled("sentences", np.array(vectors))
    penalty = config.penalty * (np.mean(penalties) + penalty)
    return linear(state, "classifier", document), [list(alphas), [beta]], {"penalty": penalty}
