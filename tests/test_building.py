"""Networks that learners write: the library's weights go in, and a wrapper around ours is wrong."""

from functools import partial

import pytest
import torch
from answers import solution
from torch import nn

from course_kit import exercises
from course_kit.exercises import CheckFailed, check_level, solutions
from course_kit.exercises.building import network
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import masked_softmax

MyLevel, OurLevel = solution("level"), check_level.ours
SOFTMAX = "models.masked_softmax(self.context(u).squeeze(2), mask)"
Unmasked = solution("level", SOFTMAX, "self.context(u).squeeze(2).softmax(1)")


class Renamed(nn.Module):
    """The same parameters in the same order, under other names, one of them without an axis."""

    def __init__(self, inputs, hidden, attention):
        super().__init__()
        self.both = BidirectionalGRU(inputs, hidden)
        self.c = nn.ParameterList([torch.zeros(attention)])
        self.w = nn.Linear(2 * hidden, attention)

    def forward(self, x, mask):
        h = self.both(x, mask)
        alpha = masked_softmax(torch.tanh(self.w(h)) @ self.c[0], mask)
        return torch.einsum("nl,nld->nd", alpha, h), alpha


@pytest.mark.parametrize("answer", [MyLevel, Renamed])
def test_a_network_that_equals_ours_with_our_weights_is_right(answer):
    verdict = check_level.judged(answer)
    assert (verdict.state, verdict.sentence) == ("passed", f"9 cases, {check_level.span}")


class Wrapper(MyLevel):
    """Its own parameters, unused, and ours inside."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.inside = [OurLevel(*sizes)]

    def forward(self, x, mask):
        return self.inside[0](x, mask)


class Child(OurLevel):
    """Ours with another name."""


class Stumbles(MyLevel):
    def forward(self, x, mask):
        return nn.functional.layer_norm(x, (99,))


CHANGED = [
    (
        "2 * hidden, attention",
        "2 * hidden, attention, False",
        "your network lacks projection.bias (4,): keep the parameters of the stub",
    ),
    (
        "(attention, 1",
        "(attention + 1, 1",
        "your parameter context.weight has the shape (1, 5), expected (1, 4).",
    ),
    ("    def forward", "    @torch.no_grad()\n    def forward", "no gradient reaches gru.gru."),
    (".squeeze(1), alpha", ".squeeze(1)", "2 results are expected (s, alpha), you returned 1."),
]
WRONG = [(solution("level", before, after), says) for before, after, says in CHANGED] + [
    (
        Unmasked,
        "padding gets attention: models.masked_softmax(scores, mask). Smallest of 6 failing "
        "cases (of 9): 1 sentence of 2 words, some padded.",
    ),
    (Wrapper, "the library's OurLevel does the work in your network: write its equations"),
    (Child, "the library's Child does the work"),
    (Stumbles, "your code raised RuntimeError in your line `return nn.functional.layer_norm("),
    (MyLevel(3, 2, 4), "pass the class itself"),
    (lambda x, mask: x, "pass the class itself"),
]


@pytest.mark.parametrize(("answer", "says"), WRONG)
def test_a_network_that_is_wrong_or_not_the_learners_is_told_why(answer, says):
    verdict = check_level.judged(answer)
    assert verdict.state == "wrong" and verdict.sentence.startswith(says)
    pooled, _ = network(OurLevel, 3, 2, 4)(torch.ones(1, 2, 3), torch.ones(1, 2, dtype=bool))
    assert pooled.shape == (1, 4)  # ours is undisturbed


def test_a_stub_is_open():
    assert check_level.judged(solution("level", "h = ", "return None  # ")).state == "open"


def test_a_lesson_goes_on_with_the_learners_network_once_it_is_right(capsys):
    assert check_level.or_ours(MyLevel) is MyLevel
    assert check_level.or_ours(Unmasked) is OurLevel
    assert capsys.readouterr().out == (
        "level: your own\nlevel: ours, until yours passes its check\n"
    )


@pytest.mark.full
def test_our_solution_is_offered_after_a_right_answer_or_the_third_wrong_one(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("course_lib.views.plots.show_markdown", shown.append)
    monkeypatch.setattr("course_lib.views.plots.show", lambda figure, alt: None)
    monkeypatch.setattr(solutions, "_wrong", type(solutions._wrong)())
    for offers in (0, 0, 1, 2):
        with pytest.raises(CheckFailed):
            check_level(Unmasked)
        assert len(shown) == offers
    check_level(MyLevel)
    assert len(shown) == 3
    assert shown[0].startswith("<details><summary>Our solution, if you would rather read one now")
    assert "```python\nclass MyLevel(nn.Module):" in shown[-1] and "###" not in shown[-1]

    class Ours(MyLevel):
        def forward(self, x, mask):
            ### BEGIN SOLUTION
            return MyLevel.forward(self, x, mask)
            ### END SOLUTION

    check_level(Ours)
    assert len(shown) == 3


def test_what_crashes_is_no_wrong_answer(monkeypatch):
    shown = []
    monkeypatch.setattr("course_lib.views.plots.show_markdown", shown.append)
    monkeypatch.setattr("course_lib.views.plots.show", lambda figure, alt: None)
    monkeypatch.setattr(solutions, "_wrong", type(solutions._wrong)())

    def crashing(predict, words, weights):
        return words + weights

    for answer in [crashing, None, crashing, crashing, "my_answer", crashing]:
        with pytest.raises(CheckFailed, match=r"your code raised|pass the function itself"):
            exercises.check_moved_by_heaviest(answer)
    assert shown == []


def test_an_error_of_code_without_lines_is_told_without_one():
    def failing(s, mask):
        raise KeyError("x")

    said = exercises.check_sentences_in_place.judged(partial(failing)).sentence
    assert said.startswith("your code raised KeyError: 'x'.")


def test_lesson_06_runs_on_with_our_network_in_place_of_an_open_one():
    ours, tokens = exercises.check_agt.ours(2, 5, 6, 1, 3), torch.tensor([[19, 3, 0]])
    ours.embedding, ours.classifier = nn.Embedding(20, 5), nn.Linear(6, 2)
    logits, attention = ours(tokens, tokens > 0)
    assert logits.shape == (1, 2) and attention.shape == (1, 1, 3)
    assert torch.allclose(logits, ours.classifier(attention[:, 0] @ ours.project(tokens, None)[0]))
