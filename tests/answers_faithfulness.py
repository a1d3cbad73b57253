"""Answers to the exercises on faithfulness, right ones written differently and wrong ones, for
``test_checks``."""

import numpy as np
import torch
from scipy.stats import kendalltau, pearsonr, spearmanr

from course_kit.exercises.checks.faithfulness import (
    ERASURE,
    KENDALL,
    NORMALISED_AOPC,
    WORDS_TO_FLIP,
)
from course_kit.exercises.checks.integrated import INTEGRATED_GRADIENTS
from course_kit.exercises.checks.interventions import PERMUTATION_CHANGE, ZEROED


def erasure_by_sets(model, words, importance, count):
    top = set(sorted(range(len(words)), key=lambda i: -importance[i])[:count])
    texts = [words, [], []]
    for place, word in enumerate(words):
        texts[1 + (place in top)].append(word)
    whole, without, alone = model(texts)
    j = whole.argmax()
    return whole[j] - without[j], whole[j] - alone[j]


def erasure_by_threshold(model, words, importance, count):
    least = importance.topk(count).values[-1]
    gone = (importance >= least).tolist()
    rest = [word for word, is_gone in zip(words, gone) if not is_gone]
    kept = [word for word, is_gone in zip(words, gone) if is_gone]
    j = int(model([words])[0].argmax())
    p = [float(model([text])[0, j]) for text in (words, rest, kept)]
    return [p[0] - p[1], p[0] - p[2]]


def erasure_in_numpy(model, words, importance, count):
    array = np.array(words)
    top = np.sort(np.argsort(-importance.numpy())[:count])
    answers = model([words, np.delete(array, top).tolist(), array[top].tolist()]).numpy()
    j = answers[0].argmax()
    return answers[0, j] - answers[1:, j]


def erasure_in_numpy_as_numbers(*given):
    return tuple(erasure_in_numpy(*given).tolist())


def erasing(choose, tell=lambda whole, rest, kept: (whole, rest, kept)):
    """An answer that erases other words, or reads the outputs otherwise."""

    def answer(model, words, importance, count):
        places = choose(importance, count)
        rest = [word for place, word in enumerate(words) if place not in places]
        kept = [word for place, word in enumerate(words) if place in places]
        return tell(*model([words, rest, kept]))

    return answer


def heaviest(importance, count):
    return importance.topk(count).indices.tolist()


def of_class(j):
    def tell(whole, rest, kept):
        place = whole.argmax() if j is None else j
        return whole[place] - rest[place], whole[place] - kept[place]

    return tell


def every_copy(model, words, importance, count):
    top = [words[place] for place in heaviest(importance, count)]
    whole, rest, kept = model([words, [w for w in words if w not in top],
                               [w for w in words if w in top]])  # fmt: skip
    return of_class(None)(whole, rest, kept)


def by_importance(model, words, importance, count):
    order = importance.sort(descending=True).indices.tolist()
    ranked = [words[place] for place in order]
    return of_class(None)(*model([words, ranked[count:], ranked[:count]]))


def flip_by_loop(before, after):
    for count, now in enumerate(after, start=1):
        if now != before:
            return count / len(after)
    return 1.0


def flip_in_numpy(before, after):
    changed = np.array(after) != before
    return float((changed.argmax() + 1) / len(after) if changed.any() else 1)


def flip_by_counting(before, after):
    unchanged = 0
    while unchanged < len(after) and after[unchanged] == before:
        unchanged += 1
    return torch.tensor(min(1.0, (unchanged + 1) / len(after)))


def flips(share, never=1.0):
    def answer(before, after):
        places = [place for place in range(len(after)) if after[place] != before]
        return float(share(places, len(after))) if places else never

    return answer


def flip_for_good(before, after):
    last = max((place + 1 for place, now in enumerate(after) if now == before), default=0)
    return min(1.0, (last + 1) / len(after))


def normalised_by_document(losses, lower, upper):
    found = []
    for row, low, high in zip(losses, lower, upper):
        found.append(float((row.mean() - low) / (high - low)) if high > low else float("nan"))
    return torch.tensor(found)


def normalised_in_numpy(losses, lower, upper):
    room = (upper - lower).numpy()
    room[room == 0] = np.nan
    return torch.from_numpy((losses.numpy().mean(1) - lower.numpy()) / room)


def normalised_by_mask(losses, lower, upper):
    share = (losses.mean(dim=-1) - lower) / (upper - lower).clamp(min=1e-6)
    return share.masked_fill(upper == lower, torch.nan)


def tau_by_loop(first, second):
    agree = ties_first = ties_second = pairs = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            agree += int(a * b > 0) - int(a * b < 0)
            ties_first += int(a == 0)
            ties_second += int(b == 0)
            pairs += 1
    return agree / ((pairs - ties_first) * (pairs - ties_second)) ** 0.5


def tau_by_scipy(first, second):
    return float(kendalltau(first, second).statistic)


def tau_by_matrix(first, second):
    a, b = ((x[:, None] - x).sign() for x in (first, second))
    return (a * b).sum() / (a.norm() * b.norm())


def tau_with(under):
    """Agreeing pairs less opposite ones over something of the two sign matrices."""

    def answer(first, second):
        a, b = (np.sign(np.subtract.outer(x.numpy(), x.numpy())) for x in (first, second))
        return float((a * b).sum() / under(a, b))

    return answer


def zeroed_by_rows(attention, gone):
    rows = []
    for row, lost in zip(attention, gone):
        left = torch.where(lost, 0.0, row)
        rows.append(left / left.sum() if left.sum() > 0 else left)
    return torch.stack(rows)


def zeroed_by_product(attention, gone):
    left = attention * ~gone
    return (left / left.sum(1, keepdim=True)).nan_to_num(0.0)


def zeroed_in_place(attention, gone):
    left = attention.clone()
    left[gone] = 0
    return torch.nn.functional.normalize(left, p=1, dim=1)


def zeroed_or(instead):
    def answer(attention, gone):
        left = attention * ~gone
        return torch.where(left.any(1, keepdim=True), zeroed_by_product(attention, gone), instead)

    return answer


def change_by_loop(answer, attention, orders):
    own = answer(attention[None])[0]
    found = sorted(
        0.5 * float((answer(attention[order][None])[0] - own).abs().sum()) for order in orders
    )
    return found[len(found) // 2]


def change_by_gain(answer, attention, orders):
    gains = answer(attention[orders]) - answer(attention.view(1, -1))
    return gains.clamp(min=0).sum(1).median()


def change_in_numpy(answer, attention, orders):
    both = answer(torch.cat([attention[None], attention[orders]])).double().numpy()
    return float(np.median(np.abs(both[1:] - both[0]).sum(1) / 2))


def shuffled_like(tell):
    def change(answer, attention, orders):
        return tell(answer(attention[orders]), answer(attention[None])[0])

    return change


def variation(first, second):
    return (first - second).abs().sum(-1) / 2


def integrated_by_loop(model, x, steps, place=0.5, scale=lambda a: 1.0, times=True):
    total = torch.zeros_like(x)
    for k in range(steps):
        a = (k + place) / steps
        slope = torch.autograd.functional.jacobian(lambda point: model(point[None])[0], a * x)
        total += scale(a) * slope / steps
    return ((total * x) if times else total).sum(1)


def integrated_by_points(model, x, steps):
    points = torch.stack([x * (2 * k + 1) / (2 * steps) for k in range(steps)])
    points.requires_grad_()
    model(points).sum().backward()
    return torch.einsum("swd,wd->w", points.grad, x) / steps


def integrated_by_functional(model, x, steps):
    slope = torch.func.grad(lambda point: model(point.unsqueeze(0)).squeeze(0))
    scales = torch.linspace(0.5 / steps, 1 - 0.5 / steps, steps)
    return torch.stack([(x * slope(a * x)).sum(-1) for a in scales]).mean(0)


def integrated_like(**parts):
    return lambda model, x, steps: integrated_by_loop(model, x, steps, **parts)


def leave_one_out(model, x, steps):
    left = [torch.cat([x[:i], torch.zeros_like(x[:1]), x[i + 1 :]]) for i in range(len(x))]
    return model(x[None]) - torch.stack([model(one[None])[0] for one in left])


RIGHT = {
    INTEGRATED_GRADIENTS: [integrated_by_loop, integrated_by_points, integrated_by_functional],
    ERASURE: [erasure_by_sets, erasure_by_threshold, erasure_in_numpy_as_numbers],
    WORDS_TO_FLIP: [flip_by_loop, flip_in_numpy, flip_by_counting],
    NORMALISED_AOPC: [normalised_by_document, normalised_in_numpy, normalised_by_mask],
    KENDALL: [tau_by_loop, tau_by_scipy, tau_by_matrix],
    ZEROED: [zeroed_by_rows, zeroed_by_product, zeroed_in_place],
    PERMUTATION_CHANGE: [change_by_loop, change_by_gain, change_in_numpy],
}
WRONG = {
    INTEGRATED_GRADIENTS: [
        (lambda model, x, steps: integrated_by_loop(model, x, 1, place=1.0), "gradient × input"),
        (integrated_like(place=0.0), "at its left end"),
        (integrated_like(place=1.0), "the right end of each part"),
        (integrated_like(times=False), "the mean slope alone"),
        (
            lambda model, x, steps: steps * integrated_by_loop(model, x, steps),
            "divide by the steps",
        ),
        (lambda *given: integrated_by_loop(*given).abs(), "keep the sign"),
        (integrated_like(scale=lambda a: a), "by its own point"),
        (leave_one_out, "that is leave-one-out"),
        (lambda model, x, steps: torch.zeros_like(x), "one number a word"),
        (lambda model, x, steps: torch.zeros(len(x)), "A place to start: a = "),
    ],
    ERASURE: [
        (lambda *given: tuple(erasure_by_sets(*given)[::-1]), "the two are exchanged"),
        (erasing(heaviest, of_class(1)), "you look at class 1"),
        (
            erasing(heaviest, lambda whole, *others: tuple(whole.max() - p.max() for p in others)),
            "each text has its own class",
        ),
        (
            erasing(heaviest, lambda whole, *others: tuple(p[whole.argmax()] for p in others)),
            "the probabilities that are left",
        ),
        (lambda *given: tuple(-p for p in erasure_by_sets(*given)), "the signs are turned round"),
        (
            erasing(lambda scores, n: heaviest(-scores, n), of_class(None)),
            "you take the least important words",
        ),
        (
            erasing(lambda scores, n: heaviest(scores.abs(), n), of_class(None)),
            "you rank by absolute value",
        ),
        (
            erasing(
                lambda s, n: s.sort(descending=True).indices.tolist()[1 : n + 1], of_class(None)
            ),
            "the word that is ranked first is never in your set",
        ),
        (erasing(lambda scores, n: range(n), of_class(None)), "you take the first words"),
        (every_copy, "compare places, not words"),
        (by_importance, "keep the reading order"),
        (lambda *given: erasure_by_sets(*given)[0], "2 results are expected"),
        (lambda *given: tuple(map(abs, erasure_by_sets(*given))), "the sign is lost"),
        (lambda *given: tuple(max(0 * p, p) for p in erasure_by_sets(*given)), "you cut at 0"),
        (lambda *g: (erasure_by_sets(*g)[0], -erasure_by_sets(*g)[1]), "has the wrong sign"),
        (lambda *given: (0.12, 0.34), "A place to start: top = set"),
    ],
    WORDS_TO_FLIP: [
        (flips(lambda places, n: (places[0] + 1) / n, 0.0), "with 0, a ranking that finds"),
        (flips(lambda places, n: (places[0] + 1) / n, float("nan")), "if such texts were left out"),
        (flips(lambda places, n: places[0] / n), "the first place is one word, not none"),
        (flips(lambda places, n: places[0] + 1), "divide by the number of words"),
        (flips(lambda places, n: (places[-1] + 1) / n), "the last time"),
        (lambda before, after: np.mean([now != before for now in after]).item(), "how often"),
        (flip_for_good, "for good"),
        (flips(lambda places, n: 1 - (places[0] + 1) / n), "still there"),
        (lambda before, after: 1 / len(after) if after[0] != before else 1.0, "inside the loop"),
        (lambda before, after: flip_by_loop(after[0], after), "compare it with before"),
        (lambda before, after: 0.77, "A place to start: go through after"),
    ],
    NORMALISED_AOPC: [
        (lambda losses, lower, upper: losses.mean(1), "that is the raw AOPC"),
        (lambda losses, lower, upper: losses.mean(1) / upper, "by the upper limit alone"),
        (lambda losses, lower, upper: losses.mean(1) - lower, "is not divided by"),
        (lambda losses, lower, upper: losses.mean(1) / (upper - lower), "without subtracting"),
        (
            lambda losses, lower, upper: (
                (upper - losses.mean(1)) / torch.where(upper > lower, upper - lower, torch.nan)
            ),
            "0 and 1 are exchanged",
        ),
        (lambda *given: normalised_by_document(*given).nan_to_num(), "the ranking is the worst"),
        (
            lambda losses, lower, upper: (losses.mean(1) - lower) / (upper - lower),
            "you divide by 0",
        ),
        (lambda *given: normalised_by_document(*given).clip(0, 1), "you cut at 0 and 1"),
        (
            lambda losses, lower, upper: normalised_by_mask(losses * losses.shape[1], lower, upper),
            "AOPC is their mean",
        ),
        (lambda losses, lower, upper: losses, "the mean runs over the thresholds"),
        (lambda losses, lower, upper: lower + 3, "A place to start: losses.mean(1)"),
    ],
    KENDALL: [
        (tau_with(lambda a, b: a.size - len(a)), "you divide by all pairs"),
        (tau_with(lambda a, b: np.abs(a * b).sum()), "you leave out every pair"),
        (
            lambda first, second: float(
                np.mean(
                    [
                        (first[i] - first[j]) * (second[i] - second[j]) > 0
                        for i in range(len(first))
                        for j in range(i)
                    ]
                )
            ),
            "the share of pairs in the same order",
        ),
        (tau_with(lambda a, b: 2), "divide it"),
        (lambda *given: 2 * tau_by_loop(*given), "twice too much"),
        (tau_with(lambda a, b: np.abs(a).sum()), "the ties of the second ranking"),
        (tau_with(lambda a, b: np.abs(b).sum()), "the ties of the first ranking"),
        (lambda *given: abs(tau_by_loop(*given)), "the sign is lost"),
        (lambda first, second: float(spearmanr(first, second).statistic), "Spearman"),
        (lambda first, second: float(pearsonr(first, second).statistic), "Pearson"),
        (lambda *given: -tau_by_loop(*given), "the sign is turned round"),
        (lambda first, second: 0.123, "A place to start: a ="),
    ],
    ZEROED: [
        (lambda attention, gone: attention * ~gone, "does not sum to 1"),
        (
            lambda attention, gone: attention * ~gone / (attention * ~gone).sum(1, keepdim=True),
            "0 / 0 is NaN",
        ),
        (
            lambda attention, gone: zeroed_or(attention)(attention, gone),
            "must not get it back",
        ),
        (
            lambda attention, gone: zeroed_or(torch.tensor(1 / attention.shape[1]))(
                attention, gone
            ),
            "becomes uniform",
        ),
        (lambda attention, gone: (attention * ~gone).softmax(1), "exp(0) is 1"),
        (
            lambda attention, gone: attention.masked_fill(gone, -torch.inf).softmax(1).nan_to_num(),
            "over what is left",
        ),
        (lambda attention, gone: zeroed_by_rows(attention, ~gone), "you keep what should go"),
        (
            lambda attention, gone: torch.nn.functional.normalize(
                (attention * ~gone > 0).float(), p=1, dim=1
            ),
            "weigh the same",
        ),
        (
            lambda attention, gone: (attention * ~gone / (attention * ~gone).sum()).nan_to_num(),
            "the sum of all rows",
        ),
        (lambda attention, gone: attention, "a place that should be zero has a weight"),
        (
            lambda attention, gone: zeroed_by_rows(attention, gone) / 3,
            "A place to start: left =",
        ),
        (lambda attention, gone: attention[0], "of the shape that attention has"),
    ],
    PERMUTATION_CHANGE: [
        (
            shuffled_like(lambda found, own: (found - own).sum(1).median()),
            "cancels what another loses",
        ),
        (shuffled_like(lambda found, own: variation(found, own).mean()), "the mean over the sh"),
        (shuffled_like(lambda found, own: variation(found, own).max()), "the largest change, wh"),
        (lambda *given: 2 * change_by_loop(*given), "the ½ is missing"),
        (
            shuffled_like(lambda found, own: (found - own).abs().amax(1).median()),
            "the largest change of a class",
        ),
        (
            shuffled_like(lambda found, own: (found - own)[:, own.argmax()].abs().median()),
            "at the predicted class alone",
        ),
        (
            shuffled_like(lambda found, own: (found - own).abs().mean(1).median()),
            "the mean over the classes",
        ),
        (shuffled_like(lambda found, own: (found - own).norm(dim=1).median()), "Euclidean"),
        (
            shuffled_like(lambda found, own: variation(found.median(0).values, own)),
            "the median of the outputs",
        ),
        (
            shuffled_like(lambda found, own: variation(found, found[0]).median()),
            "with the first shuffle",
        ),
        (shuffled_like(variation), "the median runs over the shuffles"),
        (lambda *given: 0.321, "A place to start: attention[orders]"),
    ],
}
