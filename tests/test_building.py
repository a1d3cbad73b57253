"""Networks that learners write: the library's weights go in, and a wrapper around ours is wrong."""

import pytest
import torch
from torch import nn

from course_kit import exercises
from course_kit.exercises import CheckFailed, solutions
from course_kit.exercises.building import building, network
from course_kit.exercises.cases import Case, masks, normal
from course_lib.models.layers import AttentionPooling, masked_softmax


class OurReader(nn.Module):
    """Attention pooling and a classifier."""

    def __init__(self, width, attention, classes):
        super().__init__()
        self.pooling = AttentionPooling(width, attention)
        self.classifier = nn.Linear(width, classes)

    def forward(self, x, mask):
        pooled, alpha = self.pooling(x, mask)
        return self.classifier(pooled), alpha[:, 0]


def named_weights(ours):
    """The values under the stub's names."""
    state = ours.state_dict()
    return {
        "context": state["pooling.contexts"][0],
        "projection.weight": state["pooling.projection.weight"],
        "projection.bias": state["pooling.projection.bias"],
        "classifier.weight": state["classifier.weight"],
        "classifier.bias": state["classifier.bias"],
    }


def batches():
    for rows, length in ((1, 2), (3, 5)):
        (x,) = normal((rows, length), (rows, length, 4))
        for kind, mask in zip(("all real", "some padded", "the last empty"), masks(rows, length)):
            made = network(OurReader, 4, 3, 2, seed=length)
            yield Case(f"{rows} of {length}, {kind}", (made, x, mask))


def without_mask(ours, x, mask):
    return OurReader.forward(ours, x, torch.ones_like(mask))


check = building(
    ours=OurReader,
    weights=named_weights,
    sizes=lambda ours: (ours.classifier.in_features, ours.pooling.projection.out_features, 2),
    forbidden=(AttentionPooling,),
    name="reader",
    about="``f(x, mask)`` → logits and attention.",
    cases=lambda: list(batches()),
    returns=("logits", "attention"),
    start="u = tanh(W x + b)",
    span="up to three texts of five words",
    mistakes=((without_mask, "padding has attention."),),
)


class Reader(nn.Module):
    """The class that a notebook gives, with the answer in it."""

    def __init__(self, width, attention, classes):
        super().__init__()
        self.context = nn.Parameter(torch.zeros(attention))
        self.projection = nn.Linear(width, attention)
        self.classifier = nn.Linear(width, classes)

    def weigh(self, scores, mask):
        return masked_softmax(scores, mask)

    def forward(self, x, mask):
        alpha = self.weigh(torch.tanh(self.projection(x)) @ self.context, mask)
        return self.classifier((alpha.unsqueeze(1) @ x).squeeze(1)), alpha


class Renamed(nn.Module):
    """The same parameters in the same order, under other names, two of them with another axis."""

    def __init__(self, width, attention, classes):
        super().__init__()
        self.c = nn.Parameter(torch.zeros(1, attention, 1))
        self.w, self.v = nn.Linear(width, attention), nn.Linear(width, classes)

    def forward(self, x, mask):
        alpha = masked_softmax(torch.tanh(self.w(x)) @ self.c[0, :, 0], mask)
        return self.v(torch.einsum("nl,nld->nd", alpha, x)), alpha


@pytest.mark.parametrize("answer", [Reader, Renamed])
def test_a_network_that_equals_ours_with_our_weights_is_right(answer):
    verdict = check.judged(answer)
    assert (verdict.state, verdict.sentence) == ("passed", f"6 cases, {check.span}")


class Unmasked(Reader):
    def weigh(self, scores, mask):
        return scores.softmax(-1)


class Wrapper(Reader):
    """Its own parameters, unused, and ours inside."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.inside = [OurReader(*sizes)]

    def forward(self, x, mask):
        return self.inside[0](x, mask)


class OurLayer(nn.Module):
    def __init__(self, width, attention, classes):
        super().__init__()
        self.pooling = AttentionPooling(width, attention)
        self.classifier = nn.Linear(width, classes)


class Child(OurReader):
    """Ours with another name."""


class NoBias(Reader):
    def __init__(self, width, attention, classes):
        super().__init__(width, attention, classes)
        self.projection = nn.Linear(width, attention, bias=False)


class Wide(Reader):
    def __init__(self, width, attention, classes):
        super().__init__(width, attention, classes)
        self.context = nn.Parameter(torch.zeros(attention + 1))


class Detached(Reader):
    def weigh(self, scores, mask):
        return masked_softmax(scores.detach(), mask)


class Ungraded(Reader):
    @torch.no_grad()
    def forward(self, x, mask):
        return super().forward(x, mask)


class OneResult(Reader):
    def forward(self, x, mask):
        return super().forward(x, mask)[0]


class Stumbles(Reader):
    def forward(self, x, mask):
        return self.classifier(x.sum(0)), x @ mask


class Probabilities(Reader):
    def forward(self, x, mask):
        logits, alpha = super().forward(x, mask)
        return logits.softmax(-1), alpha


WRONG = [
    (Unmasked, "padding has attention. Smallest of 4 failing cases (of 6): 1 of 2, some padded."),
    (Wrapper, "the library's OurReader does the work in your network: write its equations"),
    (OurLayer, "the library's AttentionPooling does the work"),
    (Child, "the library's Child does the work"),
    (NoBias, "your network lacks projection.bias (3,): keep the parameters of the stub"),
    (Wide, "your parameter context has the shape (4,), expected (3,)."),
    (Detached, "no gradient reaches context, projection.weight, projection.bias, so training"),
    (Ungraded, "no gradient reaches context, projection.weight, projection.bias, classifier."),
    (OneResult, "2 results are expected (logits, attention), you returned 1."),
    (Stumbles, "your code raised RuntimeError in your line `return self.classifier(x.sum(0)), x @"),
    (Probabilities, "there is a softmax around logits: leave it out."),
    (Reader(4, 3, 2), "pass the class itself"),
    (lambda x, mask: x, "pass the class itself"),
]


@pytest.mark.parametrize(("answer", "says"), WRONG)
def test_a_network_that_is_wrong_or_not_the_learners_is_told_why(answer, says):
    verdict = check.judged(answer)
    assert verdict.state == "wrong" and verdict.sentence.startswith(says)
    ours = network(OurReader, 4, 3, 2)
    assert ours(torch.ones(1, 2, 4), torch.ones(1, 2, dtype=bool))[0].shape == (1, 2)  # undisturbed


def test_a_stub_is_open():
    class Stub(Reader):
        def forward(self, x, mask):
            return None

    assert check.judged(Stub).state == "open"


def test_a_lesson_goes_on_with_the_learners_network_once_it_is_right(capsys):
    assert check.or_ours(Reader) is Reader
    assert check.or_ours(Unmasked) is OurReader
    assert capsys.readouterr().out == (
        "reader: your own\nreader: ours, until yours passes its check\n"
    )


def test_our_solution_is_offered_after_a_right_answer_or_the_third_wrong_one(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("course_lib.views.plots.show_markdown", shown.append)
    monkeypatch.setattr("course_lib.views.plots.show", lambda figure, alt: None)
    monkeypatch.setattr(solutions, "_wrong", type(solutions._wrong)())
    monkeypatch.setattr(solutions, "solution", lambda name: f"def my_{name}(): ...")
    for offers in (0, 0, 1, 2):
        with pytest.raises(CheckFailed):
            check(Unmasked)
        assert len(shown) == offers
    check(Reader)
    assert len(shown) == 3
    assert shown[0].startswith("<details><summary>Our solution, if you would rather read one now")
    assert "```python\ndef my_reader(): ...\n```" in shown[-1]

    class Ours(Reader):
        def forward(self, x, mask):
            ### BEGIN SOLUTION
            return Reader.forward(self, x, mask)
            ### END SOLUTION

    check(Ours)
    assert len(shown) == 3


def test_a_solution_is_the_cell_before_the_check_without_its_marks():
    said = solutions.solution("masked_softmax")
    assert said.startswith("def ") and "return" in said and "###" not in said
    assert solutions.solution("nothing") == ""


def test_lesson_06_runs_on_with_our_network_in_place_of_an_open_one():
    ours, tokens = exercises.check_agt.ours(2, 5, 6, 1, 3), torch.tensor([[19, 3, 0]])
    ours.embedding, ours.classifier = nn.Embedding(20, 5), nn.Linear(6, 2)
    logits, attention = ours(tokens, tokens > 0)
    assert logits.shape == (1, 2) and attention.shape == (1, 1, 3)
    assert torch.allclose(logits, ours.classifier(attention[:, 0] @ ours.project(tokens, None)[0]))
