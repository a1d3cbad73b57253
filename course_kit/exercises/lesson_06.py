"""Lesson 06: AGT's highway and gate, the words it selects, their phrases, and word order."""

from collections.abc import Callable
from itertools import groupby, pairwise, permutations

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Kinds, cases, named, normal, ragged
from course_kit.exercises.judge import Checker
from course_lib.metrics.composition import ALIKE, selected_words


def _gated(new: Tensor, old: Tensor, gate: Tensor) -> Tensor:
    return new * gate + old * (1 - gate)


def _highway(x: Tensor, w: Tensor, b: Tensor, w_t: Tensor, b_t: Tensor) -> Tensor:
    return _gated(torch.tanh(x @ w.T + b), x, torch.sigmoid(x @ w_t.T + b_t))


SIZES = (1, 1), (1, 2), (2, 2), (3, 5), (8, 30)
BIASES = (0, 1, -2)  # of a gate


def _highway_inputs(rows: int, hidden: int) -> Kinds:
    x, w, b, w_t = normal(
        (rows, hidden), (rows, hidden), (hidden, hidden), (hidden,), (hidden, hidden)
    )
    return {f"gate bias {bias}": (x, w, b, w_t, torch.full((hidden,), float(bias)))
            for bias in BIASES}  # fmt: skip


def _highway_like(kind: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The layer that makes ``kind(new, x, gate)`` of its new value before the tanh."""

    def layer(x: Tensor, w: Tensor, b: Tensor, w_t: Tensor, b_t: Tensor) -> Tensor:
        return kind(x @ w.T + b, x, torch.sigmoid(x @ w_t.T + b_t))

    return layer


check_highway = Checker(
    name="highway",
    about="""``f(x, w, b, w_t, b_t)``, ``x`` ``(batch, hidden)``, matrices ``(out, in)`` as
    ``nn.Linear`` holds them → tanh(W x + b) ∘ T + x ∘ (1 − T) with T = σ(W_t x + b_t), as
    ``x``.""",
    reference=_highway,
    cases=cases("{:vector} of {}", SIZES, _highway_inputs),
    returns=("y",),
    start="gate = torch.sigmoid(x @ w_t.T + b_t): what does a gate of 1 let through?",
    span="from one number to 30, gate biases −2, 0 and 1",
    mistakes=(
        (_highway_like(lambda new, x, gate: _gated(x, torch.tanh(new), gate)),
         "the gate is the wrong way round: T = 1 takes the new value, T = 0 carries the old one."),
        (_highway_like(lambda new, x, gate: torch.tanh(new) * gate),
         "x is not carried on: what the gate does not take of the new value it takes of the old, "
         "x ∘ (1 − T)."),
        (_highway_like(lambda new, x, gate: x + torch.tanh(new) * gate),
         "x is added whole, as in a residual: here it is weighed by 1 − T."),
        (_highway_like(lambda new, x, gate: _gated(new, x, gate)),
         "the tanh of the new value is missing."),
        (lambda x, w, b, w_t, b_t: _highway(x, w.T, b, w_t.T, b_t),
         "the matrices are transposed: they are (out, in), so a row vector takes x @ w.T."),
        (lambda x, w, b, w_t, b_t: _highway(x, w_t, b_t, w, b),
         "w and b make the new value, w_t and b_t the gate: you have them the other way round."),
    ),
)  # fmt: skip


def _attention_gate(
    y: Tensor, s: Tensor, w_t: Tensor, b_t: Tensor, w_f: Tensor
) -> tuple[Tensor, Tensor]:
    gate = torch.sigmoid(s @ w_t.T + b_t)
    return _gated(torch.tanh(torch.cat([y, s], 1) @ w_f.T), y, gate), gate


def _gate_inputs(rows: int, hidden: int) -> Kinds:
    y, s, w_t, w_f = normal(
        (rows, hidden, 7), (rows, hidden), (rows, hidden), (hidden, hidden), (hidden, 2 * hidden)
    )
    return {f"gate bias {bias}": (y, s, w_t, torch.full((hidden,), float(bias)), w_f)
            for bias in BIASES}  # fmt: skip


def _layer_like(
    new: Callable[[Tensor], Tensor] = torch.tanh,
    gated: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = lambda n, y, s, t: _gated(n, y, t),
    swapped: bool = False,
    reads_y: bool = False,
) -> Callable[..., tuple[Tensor, Tensor]]:
    """The layer with another bend of the value, blend, order of [y; s], or input of the gate."""

    def layer(y: Tensor, s: Tensor, w_t: Tensor, b_t: Tensor, w_f: Tensor) -> tuple[Tensor, Tensor]:
        gate = torch.sigmoid((y if reads_y else s) @ w_t.T + b_t)
        both = torch.cat([s, y] if swapped else [y, s], 1)
        return gated(new(both @ w_f.T), y, s, gate), gate

    return layer


check_attention_gate = Checker(
    name="attention_gate",
    about="""``f(y, s, w_t, b_t, w_f)``, ``y`` and ``s`` ``(batch, hidden)``, ``w_t`` ``(hidden,
    hidden)``, ``w_f`` ``(hidden, 2 · hidden)`` → the next y and T = σ(W_t s + b_t), both as
    ``y``.""",
    reference=_attention_gate,
    cases=cases("{:sentence}, {} wide", SIZES, _gate_inputs),
    returns=("y", "gate"),
    start="gate = torch.sigmoid(s @ w_t.T + b_t), and torch.cat([y, s], 1) for the new value.",
    span="from one number to 30, gate biases −2, 0 and 1",
    mistakes=(
        (_layer_like(reads_y=True),
         "your gate reads y, as in a highway layer: here it reads s, what the layer selected."),
        (_layer_like(swapped=True), "[y; s] has y first: the left half of W^f belongs to it."),
        (_layer_like(gated=lambda new, y, s, gate: _gated(y, new, gate)),
         "the gate is the wrong way round: T = 1 takes the layer's new value."),
        (_layer_like(gated=lambda new, y, s, gate: _gated(new, s, gate)),
         "carry y, the layer below, not s."),
        (_layer_like(gated=lambda new, y, s, gate: new * gate),
         "y is not carried on: the part that the gate leaves is y ∘ (1 − T)."),
        (_layer_like(new=lambda both: both), "the new value lacks its tanh."),
    ),
)  # fmt: skip


Predict = Callable[[Tensor], Tensor]  # word ids (words,) → logits (classes,)


def _select(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    return selected_words(weights.unsqueeze(1), mask, threshold)[:, 0]


def _selection_cases() -> list[Case]:
    weights = {
        "one word": ([1.0], 0.95),
        "two words": ([0.75, 0.25], 0.95),
        "all alike": ([0.25] * 4, 0.95),
        "a tie for the largest weight": ([0.25, 0.125, 0.25, 0.125, 0.25], 0.95),
        "a weight at the threshold": ([0.125, 0.25, 0.375, 0.25], 0.5),
        "three words and padding, a low threshold": ([0.3, 0.4, 0.3, 0.0, 0.0], 0.1),
        "two words alike and padding": ([0.5, 0.5, 0.0], 0.95),
        "all alike but for rounding": ([0.25, 0.25 + 5e-8, 0.25, 0.25 - 2.5e-8], 0.95),
    }
    rows = {kind: (torch.tensor([row]), threshold) for kind, (row, threshold) in weights.items()}
    return named({kind: (row, row > 0, threshold) for kind, (row, threshold) in rows.items()}) + (
        cases("{:sentence} of up to {:word}", ((2, 3), (3, 6), (8, 30)), _sentences)()
    )


def _sentences(rows: int, length: int) -> Kinds:
    (scores,), mask = normal((rows, length, 3), (rows, length)), ragged(rows, length)
    weights = (2 * scores).masked_fill(~mask, -torch.inf).softmax(1)
    return {f"above {threshold}": (weights, mask, threshold) for threshold in (0.95, 0.5)}


def _bounds(weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    low = weights.masked_fill(~mask, torch.inf).amin(1, keepdim=True)
    return low, weights.amax(1, keepdim=True)


def _all_when_alike(weights: Tensor, mask: Tensor, threshold: float) -> Tensor:
    low, high = _bounds(weights, mask)
    return _select(weights, mask, threshold) | (mask & (high - low <= ALIKE * high))


check_selected_words = Checker(
    name="selected_words",
    about="""``f(weights, mask, threshold)``, ``(batch, length)`` twice → which words' weights,
    scaled to [0, 1] within their sentence, are above the threshold, bool as ``mask``; none where
    all words weigh alike.""",
    reference=_select,
    cases=_selection_cases,
    returns=("selected",),
    start="(weights - low) / (high - low) > threshold, low and high over the real words.",
    span="from one word to 30, ties and equal weights among them",
    mistakes=(
        (_all_when_alike,
         "where all words weigh alike (or there is one word) you select them all: a layer that "
         "prefers none selects none."),
        (lambda weights, mask, threshold: (weights > threshold) & mask,
         "the weights are not scaled: first make each sentence's smallest 0 and its largest 1."),
        (lambda weights, mask, threshold: mask & ~_select(weights, mask, threshold),
         "these are the words at or below the threshold: take those above it."),
    ),
)  # fmt: skip


def _runs(words: list[str], selected: list[bool]) -> list[str]:
    runs = groupby(zip(words, selected, strict=True), key=lambda pair: pair[1])
    return [" ".join(word for word, _ in run) for is_selected, run in runs if is_selected]


def _phrase_cases() -> list[Case]:
    sentences = {
        "one word, selected": ("good", "1"),
        "one word, not selected": ("good", "0"),
        "two words apart": ("very good fun", "101"),
        "a run at the start": ("not good but short", "1100"),
        "a run at the end": ("short but not good", "0011"),
        "two runs, one of a single word": ("not very good but so short", "111010"),
        "all selected": ("never a dull moment", "1111"),
        "none selected": ("never a dull moment", "0000"),
        "the same phrase twice": ("so bad , so bad , it is bad", "110110001"),
        "ten words": ("the plot is thin but the two leads are charming", "0101100101"),
    }
    return [
        Case(description, (text.split(), [mark == "1" for mark in marks]))
        for description, (text, marks) in sentences.items()
    ]


def _unclosed(words: list[str], selected: list[bool]) -> list[str]:
    """A run is written down only when a word that is not selected ends it."""
    return _runs(words, selected)[: -1 if selected[-1] else None]


check_phrases = Checker(
    name="phrases",
    about="""``f(words, selected)`` → the runs of selected words, each as one string, in order.""",
    reference=_runs,
    cases=_phrase_cases,
    returns=("phrases",),
    start="groupby(zip(words, selected), key=lambda pair: pair[1]).",
    span="sentences of one word to ten",
    mistakes=(
        (_unclosed,
         "a phrase that ends with the sentence is lost: nothing comes after it to close it."),
        (lambda words, selected: [phrase for phrase in _runs(words, selected) if " " in phrase],
         "one word standing alone is a phrase, too, of length 1."),
        (lambda words, selected: [word for word, flag in zip(words, selected) if flag],
         "these are the selected words one by one: neighbours belong to one phrase."),
        (lambda words, selected: _runs(words, [not flag for flag in selected]),
         "these are the words that were left out."),
        (lambda words, selected: [phrase.split() for phrase in _runs(words, selected)],
         "a phrase is one string, its words joined by blanks; yours is a list of words."),
        (lambda words, selected: ["".join(phrase.split()) for phrase in _runs(words, selected)],
         "the words of a phrase run together: join them with a blank, \" \".join(…)."),
    ),
)  # fmt: skip


def _values(tokens: Tensor) -> Tensor:
    return torch.sin(tokens.double() * 1.7).float()


def _bag(tokens: Tensor) -> Tensor:
    total = _values(tokens).sum()
    return torch.stack([total, -total])


def _reading_the_last(tokens: Tensor) -> Tensor:
    return _bag(tokens) + torch.stack([_values(tokens[-1]), torch.tensor(0.0)])


def _reading_the_middle(tokens: Tensor) -> Tensor:
    return _bag(tokens) + torch.stack([torch.tensor(0.0), _values(tokens[(len(tokens) - 1) // 2])])


def _reading_neighbours(tokens: Tensor) -> Tensor:
    values = _values(tokens)
    pairs = [left * right for left, right in pairwise(values)]
    total = sum(pairs, torch.tensor(0.0))
    return _bag(tokens) + torch.stack([total, -total])


MODELS = {
    "that adds its words up": _bag,
    "that reads the last word twice": _reading_the_last,
    "that reads the middle word twice": _reading_the_middle,
    "that multiplies neighbours": _reading_neighbours,
}


def _changes(predict: Predict, tokens: Tensor, orders: list[Tensor]) -> Tensor:
    """How each logit changes, ``(orders, classes)``."""
    return torch.stack([predict(order) for order in orders]) - predict(tokens)


def _every_order(tokens: Tensor) -> list[Tensor]:
    return [tokens[list(order)] for order in permutations(range(len(tokens)))]


def _order_change(predict: Predict, tokens: Tensor) -> Tensor:
    return _changes(predict, tokens, _every_order(tokens)).abs().max()


def _order_cases() -> list[Case]:
    sentences = {
        "one word": [3],
        "two words": [3, 8],
        "three words": [3, 8, 5],
        "three words, the first again at the end": [3, 8, 3],
        "four words": [2, 9, 4, 7],
        "five words": [6, 2, 9, 4, 7],
    }
    return [
        Case(f"{description}, a model {name}", (model, torch.tensor(ids)))
        for description, ids in sentences.items()
        for name, model in MODELS.items()
    ]


def _about_order_change(result: CaseResult) -> str | None:
    yours, expected = float(result.yours[0]), float(result.expected[0])
    if 0 <= yours < expected:
        return (
            f"you find a change of {yours:.3g}, but some order gives {expected:.3g}: n words have "
            "n! orders, and a model can be blind to some of them and not to others."
        )
    return None


check_order_change = Checker(
    name="order_change",
    about="""``f(predict, tokens)``, ``tokens`` ``(words,)`` → the largest change of any logit of
    ``predict(tokens)`` over all orders of the words.""",
    reference=_order_change,
    cases=_order_cases,
    returns=("change",),
    start="permutations(range(len(tokens))) gives each order as a tuple of places.",
    span="four models, sentences of one word to five",
    mistakes=(
        (lambda predict, tokens: _changes(predict, tokens, [tokens.flip(0)]).abs().max(),
         "you try the reversed sentence alone: a model that reads the middle word twice does not "
         "notice it."),
        (lambda predict, tokens: _changes(
            predict, tokens, [tokens.roll(shift) for shift in range(len(tokens))]).abs().max(),
         "you try rotations alone, n of the n! orders."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).max(),
         "take the absolute change: a logit that only falls changes, too."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).abs().mean(),
         "the mean hides a change that few orders make: blindness asks for the largest."),
        (lambda predict, tokens: torch.tensor(
            0.0 if _order_change(predict, tokens) < 1e-6 else 1.0),
         "whether it changes is not how much: return the largest change itself."),
        (lambda predict, tokens: _changes(predict, tokens, _every_order(tokens)).abs().sum(),
         "you sum the changes of all orders: the largest one is asked for."),
    ),
    diagnoses=(_about_order_change,),
)  # fmt: skip
