"""A weight as the reading room traces and turns it, beside the same numbers of PyTorch."""

import json
import re
import subprocess

import numpy as np
import pytest
import torch
from javascript import TESTS
from test_room_bundle import FAMILIES, run_of

from course_kit.reading_room.pack import bundle
from course_kit.reading_room.packed import as_text
from course_kit.reading_room.page.examples import RECORDED
from course_kit.reading_room.script import engine as script
from course_lib.faithfulness import word_attention as reduced
from course_lib.files import REPOSITORY
from course_lib.models.layers import renormalised
from course_lib.models.sanet import pooled_word_attention
from course_lib.runs import load_recorded

CLOSE = 1e-3
TEXTS = (
    "This film is not bad at all.",
    "The music is beautiful and the story is a mess. I left happy.",
    "Oh great, another two hours of my life I will never get back.",
)
WORDS = (None, 0, 3, 6)  # the heaviest, the first, others, of which one begins a sentence


@pytest.fixture(scope="module")
def ask(node_program, tmp_path_factory):
    """``ask(packed, messages)``: what the engine posts, as parsed JSON."""

    def answered(packed, messages):
        folder = tmp_path_factory.mktemp("talk")
        files = {"engine.js": script(), "bundle": as_text(packed)}
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        numbered = [message | {"id": number} for number, message in enumerate(messages)]
        done = subprocess.run(
            [node_program, TESTS / "conversation.mjs", *(folder / name for name in files)],
            input="".join(json.dumps(one) + "\n" for one in [{"type": "load"}, *numbered]),
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        posted = json.loads(done.stdout)
        assert [one for one in posted if one["type"] == "error"] == []
        return posted[1:]

    return answered


@pytest.fixture(scope="module")
def toys():
    changes = {"agt": {"hidden": 5, "layers": 3}}
    return {name: run_of(name, model=changes.get(name)) for name in FAMILIES}


@pytest.fixture(scope="module")
def recorded():
    return {name: load_recorded(name) for name in RECORDED}


class Inside:
    """What PyTorch's network computes on a text: its output, and that of its parts by name."""

    def __init__(self, run, text, given=None):
        self.run, self.model = run, run.model.eval()
        document = run.system.cut(text)
        self.lengths = [len(sentence) for sentence in document]
        self.tokens, self.mask = run.system.batch([document])
        self.parts = {}
        hooks = [
            part.register_forward_hook(
                lambda part, into, out, name=name: self.parts.setdefault(name, []).append(out)
            )
            for name, part in self.model.named_modules()
        ]
        shown = {"return_attention": True, "return_states": True}
        shown = shown if run.record["spec"]["system"] == "transformer" else {}
        shown = {"return_attention": True} if "sanet" in run.record["id"] else shown
        with torch.no_grad():
            self.output = self.model(self.tokens, self.mask, given, **shown)
        for hook in hooks:
            hook.remove()
        self.x = self.model.embedding(self.tokens).detach()[0]

    def probabilities(self):
        return self.output.logits[0].softmax(0)


def of_han(inside, at, chosen):
    model, output = inside.model, inside.output
    n = int(np.searchsorted(np.cumsum(inside.lengths), at, side="right"))
    t = at - sum(inside.lengths[:n])
    found = [inside.x[n, t], None]
    for level, place, alpha in (
        (model.words, (n, t), output.word_attention[0, n]),
        (model.sentences, (0, n), output.sentence_attention[0]),
    ):
        name = "words" if level is model.words else "sentences"
        h = inside.parts[f"{name}.gru"][0][place]
        u, c = level.pooling.projection(h).tanh(), level.pooling.contexts[chosen.get("hop", 0)]
        right, left = h.chunk(2)
        pooled, hops = inside.parts[f"{name}.pooling"][0]
        share, row = alpha[place[1]], place[0]
        own = hops[row, chosen.get("hop", 0), place[1]]
        found += [right, left, h, u, u, c, u * c, u @ c, u @ c, None, None, own]
        found += [share, h, share * h, pooled[row]]
    alpha, beta = output.word_attention[0, n, t], output.sentence_attention[0, n]
    return [*found[:1], *found[2:], pooled[0], alpha, beta, alpha * beta]


def of_sanet(inside, at, chosen):
    model, output = inside.model, inside.output
    number, asking = chosen.get("block", 0), chosen["from"]
    block, name = model.blocks[number], f"blocks.{number}"
    below = model.embed(inside.tokens)[0] if number == 0 else inside.parts["blocks.0"][0][0][0]
    query, value = block.mixer.w_qk(below)[asking], block.mixer.w_v(below)[at]
    scale, alpha = block.mixer.scale, output.attention[0, number, asking]
    score = scale * query @ below[at]
    mixed = inside.parts[f"{name}.mixer"][0][0][0, asking]
    pooled = pooled_word_attention(output.pooled_from, inside.mask)
    weight = reduced.pooled_rollout(output.attention, pooled, inside.mask)[0, at]
    top = inside.parts[f"blocks.{len(model.blocks) - 1}"][0][0][0]
    return [
        *(inside.x[at], below[at]),
        *(query, below[at], scale, scale * query * below[at], score),
        *(score, None, None, alpha[at]),
        *(alpha[at], value, alpha[at] * value, mixed),
        *(below[asking], inside.parts[f"{name}.norms.0"][0][0, asking]),
        inside.parts[name][0][0][0, asking],
        pooled[0, at],
        top.amax(0),
        weight,
    ]


def of_iram(inside, at, chosen):
    model, output = inside.model, inside.output
    step, attend = chosen["step"], model.steps.attend
    h = inside.parts["encoder"][0][0]
    later = inside.parts["steps.controller"]
    queries = [inside.parts["refine_query"][0][0], *(q[0] for q in later)]
    summaries = output.summaries[0]
    seen = torch.cat([h[0], summaries[:step]])
    query = queries[step] @ attend.weight
    a = output.attention[0, step]
    pooled = a[: len(seen)] @ seen
    gate = torch.sigmoid(model.steps.refine.gates[0](pooled))
    rows = reduced.iram_steps(output.attention, inside.mask)[0]
    score = query @ h[0, at]
    return [
        inside.x[at],
        h[0, at],
        *([summaries[step - 1], queries[step - 1]] if step else []),
        *(queries[step], query, h[0, at], query * h[0, at], score),
        *(score, None, None, a[at]),
        *(a[at] * h[0, at], pooled, gate, summaries[step]),
        summaries[-1],
        *(output.attention[0, -1, at], rows[-1, at]),
    ]


def of_agt(inside, at, chosen):
    model, output = inside.model, inside.output
    layer = chosen["layer"]
    b = model.project(inside.tokens, inside.mask)[0]
    d = output.attention[0]
    inner, w = torch.tanh(model.attention.weight[layer] @ b[at]), model.attention.vector[layer]
    s = d @ b
    states, gates = [s[0]], output.gates[0]
    for i, gate in enumerate(gates):
        f = torch.tanh(model.stack.carried[i] @ states[-1] + model.stack.selected[i] @ s[i + 1])
        states.append(f * gate + states[-1] * (1 - gate))
    shares = reduced.agt_layer_shares(output.gates, len(d))[0]
    words = reduced.agt_words(output.attention, output.gates)[0]
    gated = [states[layer - 1], gates[layer - 1], states[layer]] if layer else [states[0]]
    return [
        *(inside.x[at], b[at]),
        *(inner, w, w * inner, w @ inner),
        *(w @ inner, None, None, d[layer, at]),
        *(d[layer, at], d[layer, at] * b[at], s[layer]),
        *gated,
        states[-1],
        *(shares[layer], shares[layer] * d[layer, at], words[at]),
    ]


def of_transformer(inside, at, chosen):
    model, output = inside.model, inside.output
    layer, head, asking = chosen["layer"], chosen["head"], chosen["from"]
    block, name = model.blocks[layer], f"blocks.{layer}"
    below, above = output.states[0, layer], output.states[0, layer + 1]
    width = below.shape[1] // model.config.heads
    part = slice(head * width, (head + 1) * width)
    q, k = block.attention.query(below)[asking, part], block.attention.key(below)[at, part]
    values, alpha = output.values[0, layer, head], output.attention[0, layer, head, asking]
    score = q @ k / width**0.5
    received = reduced.mean_received(output.attention.mean(2)[:, -1], inside.mask)[0]
    return [
        *(inside.x[at], below[at], q, k),
        *(q * k, q @ k, width**0.5, score),
        *(score, None, None, alpha[at]),
        *(values[at], alpha[at] * values[at], alpha @ values),
        *(inside.parts[f"{name}.attention"][0][0][0, asking], below[asking]),
        *(inside.parts[f"{name}.norms.0"][0][0, asking], above[asking]),
        output.states[0, -1].mean(0),
        received[at],
    ]


EXPECTED = {
    "han": of_han,
    "sanet": of_sanet,
    "iram": of_iram,
    "agt": of_agt,
    "transformer": of_transformer,
}


def largest_difference(trace, run, text):
    """How far a trace's numbers are from PyTorch's, which must be equal in kind and order."""
    inside = Inside(run, text)
    chosen = {one["name"]: one["value"] for one in trace["choices"]}
    usual = {"layer": 0, "head": 0, "step": 0}
    with torch.no_grad():
        system = run.record["spec"]["system"]
        expected = EXPECTED[system](inside, trace["word"], usual | chosen)
    symbols = [symbol for step in trace["steps"] for symbol in step["symbols"]]
    assert len(symbols) == len(expected)
    far = [0.0]
    for symbol, theirs in zip(symbols, expected):
        if theirs is None:
            continue  # exp and its sum, which the shares hold
        theirs = np.asarray(theirs.detach() if hasattr(theirs, "detach") else theirs, dtype=float)
        ours = np.asarray(symbol.get("values", symbol.get("value")), dtype=float)
        assert ours.shape == theirs.shape, symbol["symbol"]
        far.append(np.abs(ours - theirs).max() / max(1, np.abs(theirs).max()))
    last, tint = trace["steps"][-2:]
    assert tint["aside"] and not last["aside"]
    probabilities = last["table"]["rows"]
    answer = [row["values"][1] for row in probabilities]
    return max(*far, np.abs(np.subtract(answer, inside.probabilities().numpy())).max())


def asked(texts, **more):
    return [
        {"type": "trace", "text": text, "word": word} | more for text in texts for word in WORDS
    ]


def traces_of(ask, runs, messages):
    """Each trace with its run and text."""
    posted = ask(bundle([*runs.values()], exact=True), messages)
    return [(one["trace"], runs[one["model"]], messages[one["id"]]["text"]) for one in posted]


@pytest.mark.full
def test_every_traced_number_of_a_recorded_network_is_pytorchs(ask, recorded):
    traces = traces_of(ask, recorded, asked(TEXTS))
    assert len(traces) == len(RECORDED) * len(TEXTS) * len(WORDS)
    assert max(largest_difference(*one) for one in traces) < CLOSE


def test_so_it_is_with_other_layers_heads_steps_and_questions(ask, toys):
    text = "The film was not good. I liked it."
    choices = [{"block": 1, "from": 2, "step": n, "layer": n, "head": 1, "hop": 1} for n in (0, 1)]
    messages = [one for choice in choices for one in asked([text], choice=choice)]
    messages += asked([text], erased=[1, 7], removal="delete")[:1]
    traces = traces_of(ask, toys, messages)
    deleted = "The was not good. I it."
    for trace, run, read in traces[:-5]:
        assert largest_difference(trace, run, read) < CLOSE
    for trace, run, _ in traces[-5:]:
        place = next(i for i, one in enumerate(trace["words"]) if one["place"] == trace["word"])
        assert largest_difference(trace | {"word": place}, run, deleted) < CLOSE


def test_the_tint_is_the_sum_of_its_parts_and_the_weight_of_the_card(ask, toys):
    text = "The film was not good. I liked it."
    posted = ask(bundle([*toys.values()]), [{"type": "read", "text": text}, *asked([text])])
    word = {one["model"]: one["word"] for one in posted if one["type"] == "reading"}
    for one in posted[5:]:
        trace = one["trace"]
        tint = next(step for step in trace["steps"] if step["title"] == "The tint of the word")
        weight = word[one["model"]][trace["word"]]
        assert tint["symbols"][-1]["value"] == pytest.approx(weight)
        parts = [row["values"][0] for row in tint["table"]["rows"]] if tint["table"] else [weight]
        assert sum(parts) == pytest.approx(weight)
        shares = next(step for step in trace["steps"] if "exp" in step["equation"])
        scores, powers, alpha = np.array([row["values"] for row in shares["table"]["rows"]]).T
        np.testing.assert_allclose(powers, np.exp(scores - scores.max()))
        np.testing.assert_allclose(powers / powers.sum(), alpha)


def test_there_is_nothing_to_trace_without_words_or_with_uniform_weights(ask, toys):
    messages = [*asked([""])[:1], *asked(TEXTS, uniform=True)[:1]]
    posted = ask(bundle([*toys.values()]), messages)
    assert [one["trace"] for one in posted] == [None] * 10


def turned(attention, path, factors):
    """PyTorch's attention with the row at a path, or every row, multiplied and scaled."""
    changed = attention.clone()
    rows = changed if path is None else changed[tuple(path)]
    rows[..., : len(factors)] *= torch.tensor(factors)
    return renormalised(changed, torch.ones_like(changed, dtype=torch.bool))


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_turned_weight_answers_as_pytorch_with_these_weights(ask, toys, everywhere):
    text = "The film was not good. I liked it."
    factors = [1, 3, 0, 0.5]
    paths = {
        "han": ["words", 1],
        "sanet": [1, 2],
        "iram": [1],
        "agt": [2],
        "transformer": [1, 0, 4],
    }
    kinds = [{"type": "turn", "factors": factors}, {"type": "compare"}]
    messages = [
        kind
        | {"text": text, "models": [name], "path": path, "everywhere": everywhere and name != "han"}
        for name, path in paths.items()
        for kind in kinds
    ]
    posted = ask(bundle([*toys.values()], exact=True), messages)
    for (name, run), answer, compared in zip(toys.items(), posted[::2], posted[1::2], strict=True):
        output = Inside(run, text).output
        path = None if everywhere and name != "han" else [0, *paths[name]]
        if name == "han":
            given = output.word_attention.clone(), output.sentence_attention
            given[0][0, 1, :4] *= torch.tensor(factors)
            even = output.word_attention.clone(), output.sentence_attention
            even[0][0, 1] = 1
        else:
            given = turned(output.attention, path, factors)
            even = output.attention.clone()
            even[() if path is None else tuple(path)] = 1
        theirs = Inside(run, text, given).probabilities()
        np.testing.assert_allclose(answer["probabilities"], theirs, atol=1e-5)
        theirs = Inside(run, text, even).probabilities()
        np.testing.assert_allclose(compared["equal"], theirs, atol=1e-5)
        assert len(compared["shuffled"]) == 20
        assert len({tuple(one) for one in compared["shuffled"]}) > 1


def test_shuffled_weights_are_the_same_ones_in_another_order(ask, toys):
    message = {"type": "compare", "text": "good", "path": [0], "everywhere": True}
    posted = ask(
        bundle([*toys.values()]), [{"type": "read", "text": "good"}, message | {"models": ["agt"]}]
    )
    own = next(one for one in posted if one.get("model") == "agt")["probabilities"]
    np.testing.assert_allclose(posted[-1]["shuffled"], [own] * 20)


def test_rows_keep_their_sum_when_they_are_multiplied(engine):
    assert engine("turning", "multiplied", [0.5, 0.25, 0.25], [2, 1]) == pytest.approx(
        [2 / 3, 1 / 6, 1 / 6]
    )
    assert engine("turning", "multiplied", [1, 0], [0]) == [1, 0]


def test_equations_and_exercises_are_the_lessons(ask, toys):
    choice = {"layer": 1, "step": 1}
    posted = ask(bundle([*toys.values()]), asked(["The film was good."], choice=choice))
    steps = [step for one in posted for step in one["trace"]["steps"] if step["lesson"]]
    assert len(steps) > 30
    for lesson in {step["lesson"] for step in steps}:
        path = REPOSITORY / "notebooks" / f"{lesson}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = re.sub(r"\s", "", "".join("".join(cell["source"]) for cell in cells))
        exercises = {cell["metadata"].get("nbgrader", {}).get("grade_id", "") for cell in cells}
        for step in (step for step in steps if step["lesson"] == lesson):
            assert step["exercise"] in exercises
            for part in step["equation"].split("\\qquad"):
                assert re.sub(r"\s", "", part) in text, step["equation"]
