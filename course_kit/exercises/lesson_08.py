"""Lesson 08: attention that is shuffled, searched for or taught, or given to another network."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import Inputs, Kinds, cases, generator, normal
from course_kit.exercises.judge import Checker

Answer = Callable[[Tensor], Tensor]  # attention ``(m, places)`` → probabilities ``(m, classes)``


VALUES = torch.tensor(  # of each word for each class
    [[2.0, -1.0, 0.0, 1.0], [-1.5, 0.5, 1.0, 0.0], [0.0, 2.5, -1.0, 0.5], [0.5, -0.5, 1.5, -1.0]]
)


MODELS: dict[str, Answer] = {  # the mean of the words' values, and the same whatever attention is
    "mixes": lambda attention: (3 * attention @ VALUES[: attention.shape[1]]).softmax(1),
    "ignores attention": lambda attention: torch.tensor([[0.9, 0.1]]).repeat(len(attention), 1),
}


def _shuffles(places: int, shuffles: int) -> Kinds:
    made = generator(places, shuffles)
    attention = torch.randn(places, generator=made).mul(2).softmax(0)
    orders = torch.stack([torch.randperm(places, generator=made) for _ in range(shuffles)])
    if shuffles == 1:
        orders = torch.tensor([[1, 0]])
    return {f"a model that {name}": (answer, attention, orders) for name, answer in MODELS.items()}


def _outputs(answer: Answer, attention: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Of the shuffled attentions and of the given one."""
    return answer(attention[orders]), answer(attention.unsqueeze(0))


def _change(told: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda answer, attention, orders: told(*_outputs(answer, attention, orders))


def _distance(first: Tensor, second: Tensor) -> Tensor:
    return (first - second).abs().sum(1) / 2


check_permutation_change = Checker(
    name="permutation_change",
    about="""``f(answer, attention, orders)``, ``(places,)`` and an odd number of permutations
    ``(shuffles, places)`` → the median total variation between the shuffled attention's output and
    the given one's.""",
    reference=_change(lambda shuffled, own: _distance(shuffled, own).median()),
    cases=cases("{:place}, {:shuffle}", ((2, 1), (2, 3), (3, 3), (4, 5), (4, 21)), _shuffles),
    returns=("change",),
    start="attention[orders] are all shuffled attentions, (shuffles, places).",
    shapes="one number: the median runs over the shuffles",
    span="two models, two places to four, up to 21 shuffles",
    mistakes=(
        (
            _change(lambda shuffled, own: _distance(shuffled, own).mean()),
            "that is the mean over the shuffles: the median is asked for, which a single shuffle "
            "cannot move.",
        ),
        (
            _change(lambda shuffled, own: _distance(shuffled, own).max()),
            "that is the largest change, which grows with the number of shuffles: take the median.",
        ),
        (
            _change(lambda shuffled, own: (shuffled - own).abs().max(1).values.median()),
            "you take the largest change of a class: total variation is half the sum over the "
            "classes.",
        ),
        (
            _change(lambda shuffled, own: (shuffled - own).abs()[:, own.argmax()].median()),
            "you look at the predicted class alone: the other classes can change places unseen.",
        ),
        (
            _change(lambda shuffled, own: (shuffled - own).square().sum(1).sqrt().median()),
            "that is the Euclidean distance: take absolute values, not squares.",
        ),
        (
            _change(lambda shuffled, own: (shuffled - own).sum(1).median() / 2),
            "without absolute values what one class gains cancels what another loses.",
        ),
    ),
)


def _kl(first: Tensor, second: Tensor) -> Tensor:
    return torch.xlogy(first, first / second).nan_to_num(0.0).sum()


def _jsd(first: Tensor, second: Tensor) -> Tensor:
    middle = (first + second) / 2
    return (_kl(first, middle) + _kl(second, middle)) / 2


def _searches(places: int, shares: int) -> Kinds:
    made = generator(places, shares)
    attention = torch.randn(places, generator=made).softmax(0)
    return {
        f"a model that {name}, tolerance {tolerance}": (
            answer,
            attention,
            torch.linspace(0, 1, shares),
            tolerance,
        )
        for name, answer in MODELS.items()
        for tolerance in (0.01, 0.05, 0.3)
    }


def _moved(attention: Tensor, shares: Tensor) -> Tensor:
    """All candidates: a share of the weight goes to one position ``(shares · places, places)``."""
    part, corner = shares.view(-1, 1, 1), torch.eye(len(attention))
    return ((1 - part) * attention + part * corner).flatten(0, 1)


def _found(
    score: Callable[[Tensor, Tensor], Tensor] = lambda moved, attention: torch.stack(
        [_jsd(each, attention) for each in moved]
    ),
    change: Callable[[Tensor, Tensor], Tensor] = lambda output, own: _distance(output, own),
    candidates: Callable[[Tensor, Tensor], Tensor] = _moved,
) -> Callable[..., Tensor]:
    """The adversary that another score, another change or other candidates lead to."""

    def answer(model: Answer, attention: Tensor, shares: Tensor, tolerance: float) -> Tensor:
        moved = candidates(attention, shares)
        far = change(model(moved), model(attention[None])) > tolerance
        return moved[score(moved, attention).masked_fill(far, -torch.inf).argmax()]

    return answer


def _unscaled(attention: Tensor, shares: Tensor) -> Tensor:
    part, corner = shares.view(-1, 1, 1), torch.eye(len(attention))
    return (attention + part * (corner - attention * corner)).flatten(0, 1)


check_adversary = Checker(
    name="adversary",
    about="""``f(answer, attention, shares, tolerance)``, ``(places,)`` and ``(shares,)`` → of all
    attentions in which one of the ``shares`` of the weight has moved to one position, the one with
    the largest Jensen–Shannon divergence from ``attention`` whose output is within ``tolerance``,
    as a total variation, ``(places,)``.""",
    reference=_found(),
    cases=cases("{:place}, {:share}", ((2, 3), (3, 5), (4, 5), (4, 21)), _searches),
    returns=("moved",),
    start="moved = (1 - s) * attention + s * torch.eye(len(attention))[i] for each share s and "
    "position i.",
    shapes="one attention, of the shape of the given one",
    span="two models, two places to four, three tolerances",
    mistakes=(
        (
            _found(change=lambda output, own: torch.zeros(len(output))),
            "the output changes too much: leave out what is beyond the tolerance.",
        ),
        (
            _found(
                score=lambda moved, attention: (
                    -torch.stack([_jsd(each, attention) for each in moved])
                )
            ),
            "you take the attention that differs least: an adversary differs as much as it can.",
        ),
        (
            _found(change=lambda output, own: _distance(output, own) * 2),
            "you sum the changes of the classes: total variation is half that sum.",
        ),
        (
            _found(change=lambda output, own: (output - own)[:, own.argmax()].abs()),
            "you look at the predicted class alone: the other classes may change places unseen.",
        ),
        (
            _found(candidates=_unscaled),
            "your candidates do not sum to 1: multiply the old weights by 1 − s.",
        ),
        (
            _found(score=lambda moved, attention: _distance(moved, attention)),
            "you look for the largest total variation of the attention: "
            "its Jensen–Shannon divergence "
            "is asked for.",
        ),
        (
            _found(
                score=lambda moved, attention: torch.stack([_kl(each, attention) for each in moved])
            ),
            "you look for the largest Kullback–Leibler divergence: the "
            "Jensen–Shannon divergence is "
            "asked for.",
        ),
        (
            _found(candidates=lambda attention, shares: _moved(attention, shares[-1:])),
            "you try the last of the shares alone: try each of them at each position.",
        ),
        (
            _found(
                candidates=lambda attention, shares: torch.stack(
                    [
                        (1 - s) * attention + s * torch.eye(len(attention))[attention.argmin()]
                        for s in shares
                    ]
                )
            ),
            "you move weight to the position that has least alone: try each position.",
        ),
    ),
)


LEAST = 1e-8  # a weight below counts as this much, so that no logarithm is infinite


def _taught(texts: int, words: int, weight: float) -> Inputs:
    made = generator(texts, words)
    outputs = torch.randn(2, texts, 3, generator=made).mul(2).softmax(-1)
    scores = torch.randn(2, texts, words, generator=made).mul(2)
    real = torch.arange(words) < words - torch.arange(texts)[:, None]
    return *outputs, *scores.masked_fill(~real, -torch.inf).softmax(-1), weight


def _divergences(first: Tensor, second: Tensor) -> Tensor:
    """KL(first ‖ second) of each text, ``(texts, words)`` twice → ``(texts,)``."""
    logs = [each.clamp(min=LEAST).log() for each in (first, second)]
    return (first * (logs[0] - logs[1])).sum(1)


check_adversary_loss = Checker(
    name="adversary_loss",
    about="""``f(y, y_base, alpha, alpha_base, weight)``, probabilities ``(batch, classes)`` twice,
    attention ``(batch, length)`` twice, 0 on padding → TVD(y, y_base) − weight · KL(alpha ‖
    alpha_base) of each text, ``(batch,)``.""",
    reference=lambda y, y_base, alpha, alpha_base, weight: (
        _distance(y, y_base) - weight * _divergences(alpha, alpha_base)
    ),
    cases=cases(
        "{:text} of up to {:word}, λ = {}",
        ((1, 2, 0.0), (1, 2, 0.1), (2, 3, 0.01), (3, 6, 1.0)),
        _taught,
    ),
    returns=("loss",),
    start="tvd = (y - y_base).abs().sum(1) / 2; kl is a sum of alpha * (log alpha - log "
    "alpha_base).",
    shapes="one number a text: sum over the classes, and over the words",
    span="one text to three, with and without padding, four λ",
    mistakes=(
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                _distance(y, y_base) + weight * _divergences(alpha, alpha_base)
            ),
            "you add λ KL, which rewards the attention of the base: a loss is minimised, so "
            "subtract it.",
        ),
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                _distance(y, y_base) - weight * _divergences(alpha_base, alpha)
            ),
            "your KL goes the other way round: it is weighed by the adversary's attention, alpha.",
        ),
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                2 * _distance(y, y_base) - weight * _divergences(alpha, alpha_base)
            ),
            "total variation is half the sum over the classes.",
        ),
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                _distance(y, y_base) - _divergences(alpha, alpha_base)
            ),
            "λ is not used: it says how much the KL counts.",
        ),
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                _distance(y, y_base) - weight * _distance(alpha, alpha_base)
            ),
            "you take the total variation of the attention: its Kullback–Leibler divergence is "
            "asked for.",
        ),
        (
            lambda y, y_base, alpha, alpha_base, weight: (
                _divergences(y, y_base) - weight * _divergences(alpha, alpha_base)
            ),
            "you compare the probabilities by KL: their total variation is asked for.",
        ),
    ),
)


class GuidedMLP(nn.Module):
    """Words alone, pooled by an attention that is given."""

    def __init__(self, width: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.words = nn.Linear(width, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def forward(self, x: Tensor, alpha: Tensor) -> Tensor:
        """Word vectors ``(batch, length, width)``, weights ``(batch, length)`` → logits."""
        return self.classifier((alpha.unsqueeze(1) @ self.words(x).tanh()).squeeze(1))


def _guided_inputs(batch: int, length: int) -> Inputs:
    (x,) = normal((batch, length), (batch, length, 4))
    alpha = torch.rand(batch, length, generator=generator(batch, length))
    alpha = alpha * (torch.arange(length) < length - torch.arange(batch)[:, None])
    return network(GuidedMLP, 4, 3, 2, seed=length), x, alpha / alpha.sum(1, keepdim=True)


def _weighted(alpha: Tensor, states: Tensor) -> Tensor:
    return (alpha.unsqueeze(1) @ states).squeeze(1)


check_guided = building(
    ours=GuidedMLP,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (4, 3, 2),
    forbidden=(),
    name="guided",
    about="""``f(x, alpha)``, vectors ``(batch, length, width)`` and weights ``(batch, length)``
    that are 0 on padding → logits ``(batch, classes)``: a tanh layer for each word alone, their
    weighted sum, a linear classifier.""",
    cases=cases("{} of {}", ((1, 1), (1, 3), (3, 5)), _guided_inputs),
    returns=("logits",),
    start="h = torch.tanh(self.words(x)); alpha.unsqueeze(1) @ h is (batch, 1, hidden).",
    shapes="one row of logits a text: the words are summed by their weights",
    span="one text to three, up to five words",
    mistakes=(
        (
            lambda ours, x, alpha: ours.classifier(_weighted(alpha, ours.words(x)).tanh()),
            "tanh comes after the sum in yours: each word passes its own layer first.",
        ),
        (
            lambda ours, x, alpha: ours.classifier(_weighted(alpha, ours.words(x))),
            "the tanh is missing.",
        ),
        (
            lambda ours, x, alpha: ours.classifier(ours.words(x).tanh().mean(1)),
            "alpha is not used: you take the plain mean, padding included.",
        ),
        (
            lambda ours, x, alpha: ours.classifier(
                _weighted(alpha.softmax(1), ours.words(x).tanh())
            ),
            "alpha is a distribution already: a second softmax flattens it and weighs padding.",
        ),
    ),
)
