"""Every checker accepts right answers, however written, and tells wrong ones apart."""

import inspect
import math
import re
import warnings
from dataclasses import replace
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from answers import WRONG, solution
from torch import nn

from course_kit import exercises
from course_kit.exercises import (
    CheckFailed,
    check_attention_pooling,
    check_diagonality,
    check_masked_softmax,
    check_text_by_text,
    comparison,
)
from course_kit.exercises.cases import Case, cases, masks
from course_kit.exercises.judge import NOT_KNOWN, Checker, judge, result_figure
from course_lib.models.layers import masked_softmax
from course_lib.views.colours import contrast


def softmax_without_mask(scores, mask):
    return scores.softmax(-1)


def heaviest(words, weights, k):
    return [words[place] for place in weights.argsort(descending=True)[:k]]


def weighed_words(length):
    words = ["thin", "plot", "but", "a", "fine", "cast", "and", "a", "fine", "end"][:length]
    weights = torch.rand(length, generator=torch.Generator().manual_seed(length))
    return {f"k = {k}": (words, weights / weights.sum(), k) for k in (1, 2)}


check_top_words = Checker(  # of an exercise whose answer is a list of words
    name="top_words",
    about="``f(words, weights, k)`` → list of the k heaviest words, the heaviest first.",
    reference=heaviest,
    cases=cases("{:word}", ((1,), (2,), (3,), (10,)), weighed_words),
    returns=("words",),
    start="by what should a place be sorted?",
    span="from one word to ten",
)
ORIGINALS = [getattr(exercises, name) for name in exercises.__all__ if name.startswith("check_")]
CHECKERS = [replace(each, cases=cache(each.cases)) for each in ORIGINALS]  # none changes its cases
every_checker = pytest.mark.parametrize("checker", CHECKERS, ids=lambda checker: checker.name)


def doubled(checker):
    """Wrong answers that can be made of any reference: twice, turned round, or without an end."""

    def twice(part):
        if isinstance(part, torch.Tensor) and part.dtype == torch.bool:
            return ~part
        return part[:-1] if isinstance(part, (str, list)) else 2 * part

    def answer(*given):
        right = checker.reference(*given)
        return tuple(map(twice, right)) if isinstance(right, tuple) else twice(right)

    return answer


@cache
def judged(checker):
    """The verdicts on wrong answers, each judged once, and what they should say."""
    wrong = WRONG[checker.name]
    found = [(checker.judged(solution(checker.name, *edit)), says) for *edit, says in wrong]
    free = checker.requirement  # then twice an answer may be right, too
    return found + ([] if free else [(judge(checker, doubled(checker)), "")])


@every_checker
def test_our_solution_passes_and_the_reference_meets_what_is_asked(checker):
    verdicts = [checker.judged(solution(checker.name))]
    verdicts += [judge(checker, checker.reference)] if checker.requirement else []
    for verdict in verdicts:
        assert verdict.state == "passed", verdict.sentence
        count = len(checker.cases())
        tried = "1 case" if count == 1 else f"{count} cases"
        assert f"{tried}, {checker.span}" == verdict.sentence


@pytest.mark.full
@every_checker
def test_each_wrong_answer_is_told_what_is_wrong_with_it(checker):
    for verdict, says in judged(checker):
        assert verdict.state == "wrong" and says in verdict.sentence
        assert says or f"{NOT_KNOWN} {checker.start}" not in verdict.sentence
        case = f"(of {len(checker.cases())}): {verdict.result.case.description}."
        assert re.search(
            "(Smallest of [0-9]+ failing cases|The only failing case) ", verdict.sentence
        )
        assert verdict.sentence.endswith(case)
    said = [re.split(" Smallest of| The only", each.sentence)[0] for each, _ in judged(checker)]
    assert len(set(said)) == len(said) and len(said) + len(checker.mistakes) >= 4


NEVER_READ = {  # inputs of which only the shape matters, or what another one makes of it
    "order": "x",
    "network_defect": "mask",
}


@pytest.mark.full
@every_checker
def test_an_answer_that_leaves_an_input_out_is_wrong_and_told_so(checker):
    names = inspect.signature(checker.reference).parameters
    for place, (name, value) in enumerate(zip(names, checker.cases()[0].inputs)):
        numbers = isinstance(value, torch.Tensor) and value.is_floating_point()
        truths = isinstance(value, torch.Tensor) and value.dtype == torch.bool
        if checker.requirement or NEVER_READ.get(checker.name) == name or not numbers | truths:
            continue

        def without(*given, place=place, blank=torch.ones_like if truths else torch.zeros_like):
            return checker.reference(*given[:place], blank(given[place]), *given[place + 1 :])

        verdict = judge(checker, without)
        assert verdict.state == "wrong"
        assert NOT_KNOWN not in verdict.sentence, name


@pytest.mark.full
@every_checker
def test_a_failing_case_is_drawn_readably(checker):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result_figure(checker, judged(checker)[0][0].result)
        if figure:
            figure.canvas.draw()
            assert max(figure.get_size_inches()) <= 10
            for axis in figure.axes:
                assert_readable(axis)
            plt.close(figure)


def assert_readable(axis):
    image = axis.images[0]
    grounds = image.cmap(image.norm(image.get_array().filled(np.nan)))
    grounds[np.isnan(image.get_array().filled(np.nan))] = 1.0
    rows, columns = image.get_array().shape
    for text, ground in zip(axis.texts, grounds.reshape(rows * columns, 4), strict=True):
        assert contrast(text.get_color(), ground) >= 4.5


@pytest.mark.full
@every_checker
def test_every_mistake_of_a_checker_is_wrong_and_known(checker):
    """Those that a wrong answer above was told are known to be so, and are not judged again."""
    assert len({said for _, said in checker.mistakes}) == len(checker.mistakes) <= 16
    told = [verdict.sentence for verdict, _ in judged(checker)]
    for mistake, said in checker.mistakes:
        if not any(sentence.startswith(said) for sentence in told):
            assert judge(checker, mistake).sentence.startswith(said)


@every_checker
def test_an_axis_too_many_is_told_which_axis_to_think_of(checker):
    def with_another_axis(*given):
        answer = checker.reference(*given)
        several = isinstance(answer, tuple)
        return tuple(part[None] for part in answer) if several else answer[None]

    if checker.shapes:
        assert f": {checker.shapes}." in judge(checker, with_another_axis).sentence


@pytest.mark.parametrize("number", range(len(CHECKERS)))
def test_cases_are_the_same_each_time_and_none_is_changed(number):
    """The first have been through all that stands above."""
    first, second = CHECKERS[number].cases(), ORIGINALS[number].cases()
    assert [case.description for case in first] == [case.description for case in second]
    assert len({case.description for case in first}) == len(first)
    for a, b in zip(first, second):
        for x, y in zip(a.inputs, b.inputs):
            assert comparison.same(x, y)


@pytest.mark.parametrize(
    "checker", [check_masked_softmax, check_attention_pooling, check_top_words]
)
@pytest.mark.parametrize("empty", [None, ...])
def test_what_is_not_written_yet_is_open(checker, empty, capsys):
    def unwritten(*given):
        raise NotImplementedError

    checker(lambda *given: empty)
    if len(checker.returns) > 1:
        checker(lambda *given: (empty, empty))
    checker(unwritten)
    said = capsys.readouterr().out
    assert said.count(f"○ {checker.name} is still open") >= 2
    assert said.count("Write your answer above") == said.count("○")
    assert checker.start[:20] not in said
    assert f"it returned {'None' if empty is None else '...'}" in said


def numbers(reference, *inputs, returns=("value",), **more):
    """A checker with a case for each tuple of inputs."""
    cases = [Case(f"case {place}", given) for place, given in enumerate(inputs)]
    return Checker("made", "``f(…)``", reference, lambda: cases, returns, "begin", "all", **more)


A, B = torch.tensor([[1.0, -2.0], [3.0, 0.5]]), torch.tensor([[0.3, 0.7], [-1.0, 2.0]])


def same(a):
    return a


ROW = (torch.linspace(-2, 3, 6)[torch.tensor([[3, 0, 5], [1, 4, 2]])],)  # nothing in order
SLIPS = [  # what is asked for, what was written, and what is said
    (same, lambda a: 0 - a, "the sign of value is turned round"),
    (same, lambda a: 1 - a, "that is 1 − value"),
    (same, lambda a: a * 0.5, "value is half of what it should be"),
    (same, lambda a: a + a, "value is twice what it should be"),
    (torch.square, torch.abs, "that is the square root of value"),
    (torch.abs, torch.square, "that is the square of value"),
    (same, lambda a: math.e**a, "that is the exponential of value"),
    (torch.exp, same, "that is the logarithm of value"),
    (torch.exp, lambda a: torch.exp(-a), "value is upside down"),
    (same, lambda a: a * 100, "value is in percent"),
    (same, lambda a: a * a.sign(), "the sign of value is lost"),
    (same, torch.relu, "value is cut off at 0:"),
    (same, lambda a: torch.minimum(a, torch.tensor(1.0)), "value is cut off at 1:"),
    (same, lambda a: torch.relu(a) - torch.relu(a - 1), "value is cut off at 0 and 1"),
    (torch.sqrt, lambda a: torch.relu(a).sqrt(), "value is 0 where it is not defined"),
    (same, lambda a: 2 * torch.sigmoid(2 * a) - 1, "there is a tanh around value"),
    (same, lambda a: 1 / (1 + torch.exp(-a)), "there is a sigmoid around value"),
    (same, lambda a: a - 1.0, "value is one too small"),
    (same, lambda a: 1.0 + a, "value is one too large"),
    (lambda a: a[:, :2] + 1, lambda a: a[:, :2].T + 1, "value is transposed"),
    (same, lambda a: a[[1, 0]], "value is in reverse order along its first axis"),
    (same, lambda a: a[:, [2, 1, 0]], "value is in reverse order along its last axis"),
    (same, lambda a: a[:, [2, 0, 1]], "value is shifted: each value stands one place too late"),
    (same, lambda a: a[:, [1, 2, 0]], "value is shifted: each value stands one place too early"),
    (same, lambda a: a.exp() / a.exp().sum(1, keepdim=True), "there is a softmax around value"),
    (same, lambda a: a[[0, 0]], "every row of value is the first one"),
    (same, lambda a: a * 0 + a.mean(), "every entry of value is the mean of them all"),
    (lambda a: a.sum(1), lambda a: a.mean(1), "value is too small by the size of axis 1 of a: a m"),
    (lambda a: a.mean(1), lambda a: a.sum(1), "value is too large by the size of axis 1 of a: a s"),
]


@pytest.mark.parametrize(("reference", "written", "says"), SLIPS)
def test_a_common_slip_is_named_in_any_exercise(reference, written, says):
    made = numbers(reference, ROW, (2 * ROW[0] - 0.7,))
    assert judge(made, written).sentence.startswith(says)


def test_slips_of_several_inputs_and_results_are_named():
    both = numbers(lambda a: (a.sum(0), a.mean(0) + 1), (A,), (B,), returns=("total", "mean"))
    assert judge(both, lambda a: [a.sum(0), a.mean(0) + 1]).state == "passed"
    says = judge(both, lambda a: (a.mean(0) + 1, a.sum(0))).sentence
    assert says.startswith("the results are exchanged: return total, then mean.")
    says = judge(both, lambda a: (-a.sum(0), a.mean(0) + 1)).sentence
    assert says.startswith("the sign of total is turned round")
    says = judge(both, lambda a: (-a.sum(0), -a.mean(0) - 1)).sentence
    assert says.startswith("the sign of total and mean is turned round")
    made = numbers(lambda words, k: words[:k], (["a", "b", "b"], 2), (["c", "a", "b"], 1))
    assert judge(made, lambda words, k: words[: k + 1]).sentence.startswith("you go one beyond k")
    assert judge(made, lambda words, k: words[1 : k + 1]).state == "wrong"
    made = numbers(lambda words: list(words), (["b", "a", "b"],), (["c", "a"],))
    assert judge(made, sorted).sentence.startswith("value is sorted")
    assert judge(made, lambda words: words[::-1]).sentence.startswith("value is in reverse order")
    made = numbers(lambda n: n * n, (2,), (3,))
    assert judge(made, lambda n: n * n - 1).sentence.startswith("value is one too small")
    assert judge(made, lambda n: A).sentence.startswith("value is a tensor, expected an int.")
    made = numbers(lambda a: a > 0, (A,), (B,))
    assert judge(made, lambda a: a <= 0).sentence.startswith("value is turned round")


def test_cases_say_in_words_what_is_in_them():
    made = cases("{:row} of {:word}", ((1, 5), (3, 4)), lambda *size: {"x": masks(*size)}, 0)()
    assert [case.description for case in made] == ["1 row of 5 words, x", "3 rows of 4 words, x"]
    (real, some, empty), (*_, last) = (case.inputs for case in made)
    assert real.all() and some.sum() == 3 and not empty.any()  # a single row is half real
    assert last.any(1).tolist() == [True, True, False] and made[1].inputs[1].sum(1)[-1] == 1
    # ordinary cases of all sizes come before special ones
    made = cases("{}", ((1,), (2,)), lambda n: {"a": (n,), "b": (n,)}, ordinary=1)()
    assert [case.description for case in made] == ["1, a", "2, a", "1, b", "2, b"]


def test_the_one_case_that_fails_is_called_the_only_one():
    made = numbers(lambda n: n, (1,), (2,), (5,))
    assert (
        "The only failing case (of 3): case 1." in judge(made, lambda n: n + 3 * (n == 2)).sentence
    )
    assert "Smallest of 2 failing cases (of 3)" in judge(made, lambda n: n + 3 * (n > 1)).sentence


def test_the_precision_of_one_number_is_free_and_that_of_a_tensor_is_not():
    made = numbers(lambda a: a.sum(), (A,), (B,))
    assert judge(made, lambda a: a.double().sum()).state == "passed"
    assert judge(made, lambda a: float(a.sum())).state == "passed"
    assert "dtype torch.int64" in judge(made, lambda a: a.sum().long()).sentence
    made = numbers(lambda a: a.sum(0), (A,), (B,))
    assert "value has dtype torch.float64" in judge(made, lambda a: a.double().sum(0)).sentence


@pytest.mark.parametrize("rounding", [-1e-7, 0.0, 1e-7])
def test_of_differences_that_only_rounding_tells_apart_the_first_is_named(rounding):
    right, wrong = torch.tensor([[0.5, 0.5], [0.2, 0.8]]), torch.tensor([[0.5, 0.5], [0.3, 0.7]])
    wrong[1, 1] += rounding
    said = judge(numbers(lambda a: right, (A,)), lambda a: wrong).sentence
    assert said.startswith("value at (1, 0) is 0.3, expected 0.2.")
    wrong[1, 1] = torch.nan
    said = judge(numbers(lambda a: right, (A,)), lambda a: wrong).sentence
    assert said.startswith("value at (1, 1) is nan, expected 0.8.")


def test_a_probability_of_one_and_a_bit_of_rounding_is_still_one():
    checker, says = check_text_by_text, "a p-value is a probability"
    for one, told in ((1 + 1e-7, False), (1.01, True)):
        verdict = judge(checker, lambda *given, one=one: min(one, 9 * checker.reference(*given)))
        assert (says in verdict.sentence) is told


def test_a_slip_must_explain_every_case_and_gives_way_to_the_exercises_own_words():
    def half_of_one(a):
        return a / 2 if a[0, 0] == 1 else 3 * a

    made = numbers(lambda a: a, (A,), (B,))
    assert f"{NOT_KNOWN} begin" in judge(made, half_of_one).sentence
    told = numbers(lambda a: a, (A,), (B,), mistakes=((lambda a: -a, "minus has no place here."),))
    assert judge(told, lambda a: -a).sentence.startswith("minus has no place here.")
    free = numbers(lambda a: a, (A,), requirement=lambda a, b: "too low." if b.max() < 3 else "")
    assert judge(free, lambda a: -a).sentence.startswith("too low.")
    assert judge(free, lambda a: a + 1).state == "passed"


def test_nbgrader_gives_no_points_for_an_open_exercise(monkeypatch, capsys):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(CheckFailed, match="○ masked_softmax is still open: it returned None"):
        check_masked_softmax(lambda scores, mask: None)
    assert check_masked_softmax(masked_softmax) is None  # a cell shows no Out
    assert capsys.readouterr().out.startswith("✓ masked_softmax: 64 cases, from one token to 200\n")


def test_a_wrong_answer_raises_one_sentence_and_no_traceback(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "course_lib.views.plots.show", lambda figure, alt: shown.append((figure, alt))
    )
    with pytest.raises(CheckFailed, match="✗ masked_softmax: mask is not used, so") as caught:
        check_masked_softmax(softmax_without_mask)
    lines = caught.value._render_traceback_()
    assert " ".join(lines) == str(caught.value)
    ((figure, alt),) = shown
    assert titles(figure) == ["input: scores", "input: mask", "yours: weights", "expected: weights"]
    assert written(figure.axes[1]) == ["True", "False"] and "mask is not used" in alt
    assert all(re.fullmatch(r"\d\.\d\d", value) for value in written(figure.axes[2]))


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def written(axis):
    return [text.get_text() for text in axis.texts]


def outlined(axis):
    """Row and column of the cells with a thick border."""
    found = {
        (round(box.get_y()), round(box.get_x())) for box in axis.patches if box.get_linewidth() > 1
    }
    return sorted((row, column) for row, column in found)


def test_the_drawing_holds_the_inputs_and_both_answers_on_one_scale():
    """Under the learner's names; cells that differ are outlined and show their difference."""

    def my_softmax(of_numbers, real):
        off = torch.arange(of_numbers.shape[1]) == 1
        return masked_softmax(of_numbers, real) + 0.0004 * off

    result = judge(check_masked_softmax, my_softmax).result
    figure = result_figure(check_masked_softmax, result)
    scores, mask, yours, expected = figure.axes
    assert titles(figure) == [
        "input: of_numbers",
        "input: real",
        "yours: weights",
        "expected: weights",
    ]
    assert np.allclose(scores.images[0].get_array(), result.case.inputs[0])
    assert written(mask) == ["True", "True"]
    assert np.allclose(yours.images[0].get_array(), result.yours[0])
    assert np.allclose(expected.images[0].get_array(), result.expected[0])
    assert yours.images[0].get_clim() == expected.images[0].get_clim()
    assert outlined(yours) == outlined(expected) == [(0, 1)]
    assert written(yours)[0] == written(expected)[0]
    assert written(yours)[1] != written(expected)[1]
    assert "outlined: where the answers differ" in figure.texts[0].get_text()


def test_what_needs_no_panel_stands_in_words():
    made = numbers(lambda a, k: a, (A, 3))
    result = judge(made, lambda found, many: found + 1).result
    assert "many = 3" in result_figure(made, result).texts[0].get_text()


def test_a_module_is_a_function_too_and_one_of_any_arguments_gets_the_references_names():
    class Answer(nn.Module):
        def __init__(self, softmax):
            super().__init__()
            self.softmax = softmax

        def forward(self, points, real):
            return self.softmax(points, real)

    assert judge(check_masked_softmax, Answer(masked_softmax)).state == "passed"
    assert "not its result (got Tensor)" in judge(check_masked_softmax, torch.ones(2)).sentence
    wrong = judge(check_masked_softmax, Answer(softmax_without_mask)).result
    assert list(wrong.given) == ["points", "real"]
    result = judge(check_masked_softmax, lambda *given: softmax_without_mask(*given)).result
    assert list(result.given) == ["scores", "mask"]


def test_whole_numbers_are_drawn_whole():
    checker = numbers(lambda x: x.argsort(), (torch.tensor([2.0, 0.5, 1.0]),))
    result = judge(checker, lambda x: x.argsort() + (x > 1)).result
    yours, expected = result_figure(checker, result).axes[-2:]
    assert written(expected) == ["1", "2", "0"]
    assert outlined(yours) == outlined(expected) != []


def test_words_stand_under_their_numbers():
    result = judge(check_top_words, lambda words, weights, k: words[:k]).result
    (weights,) = result_figure(check_top_words, result).axes
    assert [text.get_text() for text in weights.get_xticklabels()] == result.case.inputs[0]


def test_one_number_gets_words_and_no_cell():
    def half(attention, bandwidth):
        return check_diagonality.reference(attention, bandwidth) / 2

    verdict = judge(check_diagonality, half)
    mine, right = verdict.result.yours[0].item(), verdict.result.expected[0].item()
    difference = f"{abs(mine - right):.3g}"
    assert f"Your diagonality is {mine:.4g}, expected {right:.4g} (difference {difference})" in (
        verdict.sentence
    )
    figure = result_figure(check_diagonality, verdict.result)
    assert figure is None or titles(figure) == ["input: attention"]


def test_lists_stand_one_below_the_other_with_their_weights():
    def lightest(words, weights, k):
        return [words[i] for i in weights.argsort()[:k]]

    verdict = judge(check_top_words, lightest)
    words, weights, _ = verdict.result.case.inputs
    (mine,), (right,) = verdict.result.yours[0], verdict.result.expected[0]
    yours, expected = verdict.lists.split("\n")
    assert mine != right
    for line, word in ((yours, mine), (expected, right)):
        assert line.endswith(f"{word!r} ({weights[words.index(word)]:.2f})")
    with pytest.raises(CheckFailed) as caught:
        check_top_words(lightest)
    assert caught.value._render_traceback_()[-2:] == [yours, expected]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (torch.ones(2), "at place 0: tensor([1., 1.]) "),
        (torch.ones(2).to_sparse(), ""),
        (torch.ones(2, device="meta"), ""),
    ],
)
def test_a_list_of_tensors_readable_or_not_is_a_wrong_answer_and_no_accident(part, says):
    verdict = judge(check_top_words, lambda words, weights, k: [part])
    assert verdict.state == "wrong" and f"{says}instead of 'thin'" in verdict.sentence


def test_a_large_answer_is_drawn_around_its_first_difference():
    def late(scores, mask):
        weights = masked_softmax(scores, mask)
        if weights.shape[1] == 200:
            weights[0, 150] += 1
        return weights

    result = judge(check_masked_softmax, late).result
    figure = result_figure(check_masked_softmax, result)
    for axis in figure.axes:
        assert axis.images[0].get_array().shape == (1, 12)
        assert axis.get_xticklabels()[-1].get_text() == "150"
    assert titles(figure)[0] == "input: scores[:, 139:151]"
    assert figure.axes[-2].images[0].get_array()[0, -1] > 1
