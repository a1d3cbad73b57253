"""Exercises in which a learner writes a whole network, or a layer of one, from its equations.

The notebook gives a class whose ``__init__`` makes the parameters and whose ``forward`` is a stub;
where a network has several parts, each is such a class in a cell of its own with its own check. A
check puts the weights of the library's network into the learner's and compares all that it returns
on masked batches, attention included. A network that has ours inside, or calls it, is wrong, and so
is one with parameters that no gradient reaches. A lesson's checker::

    class OurHAN(nn.Module):  # the library's network behind the interface of the notebook's class
        def __init__(self, vocabulary, width, hidden, attention, classes): ...
        def forward(self, tokens, mask): ...  # → logits, word attention, sentence attention

    check_han = building(
        ours=OurHAN,
        weights=lambda ours: {...},  # the values of its parameters by the names that the stub gives
        forbidden=(HAN, AttentionPooling),
        sizes=lambda ours: (...),  # what the learner's ``__init__`` takes for the same network
        cases=lambda: [Case("two documents", (network(OurHAN, 20, 4, 3, 5, 2), tokens, mask)), ...],
        name=…, about=…, returns=…, mistakes=…,  # as for every ``Checker``
    )

A mistake is a function of a case's inputs: ours with its weights, then the batch. The cells that
train afterwards take ``check_han.or_ours(MyHAN)``, so that a copy with an open exercise runs on.
"""

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from course_kit.exercises.cases import Case, Inputs, generator, masked_cases
from course_kit.exercises.judge import Checker, Remark

Weights = Callable[[Any], dict[str, Tensor]]


def building(
    *,
    ours: type[nn.Module],
    weights: Weights,
    sizes: Callable[[Any], tuple],
    forbidden: tuple[type[nn.Module], ...],
    **checker: Any,
) -> Checker:
    """A ``Checker`` of a class that a learner writes; see the top of this module."""
    return Checker(
        reference=run,
        adapt=lambda answer: Written(answer, weights, sizes, (ours, *forbidden)),
        ours=ours,
        **checker,
    )


def network(ours: type[nn.Module], *sizes: int, seed: int = 0) -> nn.Module:
    """A network of ours with the same random weights at every call; biases are not left at 0."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = ours(*sizes)
        for parameter in made.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, std=0.5)
    return made.eval()


def reading_cases(ours: type[nn.Module], *sizes: Any) -> Callable[[], list[Case]]:
    """Texts of ids from 2 to 19, with every kind of mask, for a network of ours of these sizes."""

    def inputs(mask: Tensor, n: int, words: int) -> Inputs:
        tokens = torch.randint(2, 20, (n, words), generator=generator(n, words))
        return network(ours, *sizes, seed=words), tokens * mask, mask

    return masked_cases("{:text} of {} words", ((1, 2), (2, 4), (4, 9)), inputs)


def run(model: nn.Module, *batch: Tensor) -> Any:
    """What a network of ours returns, without gradients."""
    with torch.no_grad():
        return model.eval()(*batch)


@dataclass(frozen=True)
class Written:
    """A learner's class as a function of a case's inputs: ours, whose weights it gets, a batch."""

    answer: Any
    weights: Weights
    sizes: Callable[[Any], tuple]
    forbidden: tuple[type[nn.Module], ...]

    @property
    def forward(self) -> Callable | None:
        """The learner's function, for its line numbers and the names of its inputs."""
        return getattr(self.answer, "forward", None)

    def __call__(self, ours: nn.Module, *batch: Tensor) -> Any:
        """What the learner's network returns; ``Remark`` for what is wrong whatever it returns."""
        if not inspect.isclass(self.answer) or not issubclass(self.answer, nn.Module):
            raise Remark("pass the class itself, a subclass of nn.Module, not one of its networks.")
        values, sizes = self.weights(ours), self.sizes(ours)
        with ExitStack() as stack:
            for kind in self.forbidden:
                stack.enter_context(patch.object(kind, "forward", _refuse(kind)))
            theirs = self.answer(*sizes).eval()
            for module in theirs.modules():
                if isinstance(module, self.forbidden):
                    raise Remark(_has_ours(type(module)))
            _fill(theirs, values)
            answer = theirs(*batch)
        first = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
        if isinstance(first, Tensor) and first.is_floating_point() and first.numel():
            _reach_all(theirs, first)
        return answer


def _refuse(kind: type[nn.Module]) -> Callable:
    def forward(*given: Any, **named: Any) -> None:
        raise Remark(_has_ours(kind))

    return forward


def _has_ours(kind: type[nn.Module]) -> str:
    return (
        f"the library's {kind.__name__} does the work in your network: write its equations "
        "yourself, with the parameters that the stub makes."
    )


def _fill(theirs: nn.Module, values: dict[str, Tensor]) -> None:
    """Put the values in by name, or, under other names, by order and shape."""
    own = dict(theirs.named_parameters())
    if own.keys() != values.keys():
        if list(map(_shape, own.values())) != list(map(_shape, values.values())):
            raise Remark(_other_parameters(own, values))
        values = dict(zip(own, values.values(), strict=True))
    for name, parameter in own.items():
        if _shape(parameter) != _shape(values[name]):
            raise Remark(
                f"your parameter {name} has the shape {tuple(parameter.shape)}, expected "
                f"{tuple(values[name].shape)}."
            )
        parameter.data.copy_(values[name].view_as(parameter))


def _shape(value: Tensor) -> list[int]:
    """The shape without axes of size 1, which make no difference to a parameter."""
    return [size for size in value.shape if size > 1]


def _other_parameters(own: dict[str, Tensor], values: dict[str, Tensor]) -> str:
    said = []
    for what, names in (("lacks", values.keys() - own.keys()), ("has", own.keys() - values.keys())):
        if names:
            shapes = own if what == "has" else values
            listed = ", ".join(f"{name} {tuple(shapes[name].shape)}" for name in sorted(names))
            said.append(f"{what} {listed}")
    return (
        f"your network {' and '.join(said)}: keep the parameters of the stub, so that the check "
        "can put weights into them."
    )


def _reach_all(theirs: nn.Module, output: Tensor) -> None:
    """Every parameter must be trained by what the network returns first."""
    named = dict(theirs.named_parameters())
    found = [None] * len(named)
    if output.requires_grad:
        found = torch.autograd.grad(output.sum(), list(named.values()), allow_unused=True)
    if lost := [name for name, gradient in zip(named, found, strict=True) if gradient is None]:
        raise Remark(
            f"no gradient reaches {', '.join(lost)}, so training could not change it: is it left "
            "out, or is there a detach(), .data or no_grad() on the way?"
        )
