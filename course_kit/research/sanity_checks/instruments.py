"""The instruments of the sanity checks: a number of what a network makes of its test texts."""

from functools import partial

import torch
from torch import Tensor

from course_kit.research.sanity_checks.synthetic import FAR
from course_kit.research.sanity_checks.trained_control import Instrument, Seen, TrainedControl
from course_kit.research.sanity_checks.word_by_word import with_held_query, without_summary
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.metrics.attention import diagonality, gini
from course_lib.metrics.composition import expected_phrases, phrase_starts, selected_words
from course_lib.metrics.steps import describe_steps
from course_lib.models.han import HANOutput
from course_lib.models.iram import IRAMOutput
from course_lib.models.sanet import SANetOutput, pooled_word_attention

NEAR = 2  # positions around the planted word that count as its neighbours
BANDS = (1, 2, 3)


def mean(values: Tensor) -> float:
    """A mean as a number."""
    return values.double().mean().item()


def accuracy(seen: Seen) -> float:
    """The share of texts whose label is predicted."""
    return mean(seen.output.logits.argmax(1) == seen.labels)


# SANet on pairs of words


def band(seen: Seen, bandwidth: int) -> float:
    """Mean ``diagonality`` of the texts."""
    return mean(diagonality(seen.output.attention[:, 0], seen.mask, bandwidth))


def beside(seen: Seen) -> float:
    """Diagonality at 1 without the diagonal: what words give to the words beside them alone.

    Diagonality counts the weight of a word on itself, which can grow where no neighbour matters.
    """
    return band(seen, 1) - band(seen, 0)


def sharpness(seen: Seen) -> float:
    """Mean ``gini`` of the texts."""
    return mean(gini(seen.output.attention[:, 0], seen.mask))


def at_distances(one: TrainedControl) -> dict[str, float]:
    """Accuracy of the trained network without its weights at some distances between words: what it
    needs its band for."""
    places = torch.arange(one.batch.mask.shape[1])
    distance = (places.unsqueeze(1) - places).abs()
    kept = {
        "no weight on the words beside it": distance != 1,
        "weight on itself and the words beside it alone": distance <= 1,
        f"no weight {FAR} positions away": distance != FAR,
    }
    weights = one.seen.output.attention
    return {
        f"accuracy, {name}": accuracy(one.see(one.model, weights * some.to(weights)))
        for name, some in kept.items()
    }


def within_pairs(seen: Seen) -> float:
    """The weight that a word of a pair gives to the other one, mean over both directions."""
    text = torch.arange(len(seen.places), device=seen.places.device).unsqueeze(1)
    first, second = seen.places[:, ::2], seen.places[:, 1::2]
    weights = seen.output.attention[:, 0]
    return mean((weights[text, first, second] + weights[text, second, first]) / 2)


# IRAM on the pointer task


def weight_of_step(seen: Seen, step: int, which: int) -> float:
    """The weight of a step on one of the words that decide: 0 the question, 1 the named fact."""
    return mean(seen.output.attention[:, step].gather(1, seen.places[:, which : which + 1]))


def described(seen: Seen, name: str) -> float:
    """Mean of a figure of ``describe_steps``."""
    return mean(describe_steps(seen.output.attention, seen.mask)[name])


def without_parts(iram: TrainedControl) -> dict[str, float]:
    """Accuracy of the trained network if its second step keeps the first one's query, cannot see
    its summary, or both."""
    held, batch = with_held_query(iram.model), iram.batch
    hidden = {
        "summary masked": without_summary(iram.model, batch.tokens, batch.mask),
        "query held and summary masked": without_summary(held, batch.tokens, batch.mask),
    }
    shares = {name: mean(logits.argmax(1) == batch.labels) for name, logits in hidden.items()}
    shares = {"query held": accuracy(iram.see(held))} | shares
    return {f"accuracy, {name}": share for name, share in shares.items()}


# AGT on phrases


def on_pair(seen: Seen) -> float:
    """The weight on the words that decide, mean over the layers."""
    return mean((seen.output.attention * seen.decides.unsqueeze(1)).sum(2))


def of_pair(seen: Seen) -> float:
    """The share of all selected words that decide; 0 if none is selected."""
    chosen = selected_words(seen.output.attention, seen.mask)
    return _ratio(chosen & seen.decides.unsqueeze(1), chosen)


def phrase_length(seen: Seen, over_layers: bool = False, by_chance: bool = False) -> float:
    """Mean length of the runs of words that a layer selects, or that any layer does; with
    ``by_chance``, if the same words stood in a random order. 0 if no word is selected."""
    chosen = selected_words(seen.output.attention, seen.mask)
    if over_layers:
        chosen = chosen.any(1, keepdim=True)
    phrases = expected_phrases(chosen, seen.mask) if by_chance else phrase_starts(chosen)
    return _ratio(chosen, phrases)


def between_twins(seen: Seen) -> float:
    """The largest difference between the logits of twins, whose words are the same."""
    logits = seen.output.logits
    return (logits[::2] - logits[1::2]).abs().max().item()


def _ratio(part: Tensor, whole: Tensor) -> float:
    return (part.double().sum() / torch.clamp(whole.double().sum(), min=1e-9)).item()


# Every network on one planted word


def shares(seen: Seen) -> Tensor:
    """The share of the words in what the classifier reads, ``(texts, words)``, as each network's
    own instrument has it.

    AGT's is the mean over its layers. HAN's is word times sentence attention. IRAM's is that of the
    last summary, in which earlier summaries count by what they read. SANet's is ``pooled_from``.
    """
    output = seen.output
    if isinstance(output, HANOutput):
        return (output.word_attention * output.sentence_attention.unsqueeze(2)).flatten(1)
    if isinstance(output, SANetOutput):
        return pooled_word_attention(output.pooled_from, seen.mask)
    if isinstance(output, IRAMOutput):
        return iram_steps(output.attention, seen.mask)[:, -1]
    return output.attention.mean(1)


def on_planted(seen: Seen) -> float:
    """The share of the planted word."""
    return mean(shares(seen).gather(1, seen.places))


def on_neighbours(seen: Seen) -> float:
    """The share of the other words within ``NEAR`` positions of the planted one."""
    places = torch.arange(seen.mask.shape[1], device=seen.places.device)
    distance = (places - seen.places).abs()
    return mean((shares(seen) * ((distance > 0) & (distance <= NEAR))).sum(1))


def largest(seen: Seen) -> float:
    """The share of texts in which no word has a larger share than the planted one; 1 / n where
    all n words are equal."""
    found = shares(seen)
    best = found.isclose(found.amax(1, keepdim=True), atol=1e-6)
    return mean((best & seen.decides).sum(1) / best.sum(1))


def reweighting(one: TrainedControl) -> dict[str, float]:
    """Accuracy if the planted word may have no weight, or the word beside it, in the same sentence,
    gets all; nothing without attention."""
    if one.uniform is None:
        return {}
    seen = one.seen
    neighbour = torch.zeros_like(seen.decides).scatter(1, seen.places ^ 1, True)
    return {
        "accuracy, no weight on it": accuracy(one.reweighted(~seen.decides)),
        "accuracy, all weight on a neighbour": accuracy(one.reweighted(neighbour)),
    }


# What each check shows, by the names of its figures

ACCURACY: dict[str, Instrument] = {"accuracy": accuracy}
OF_PAIRS = ACCURACY | {
    "weight within pairs": within_pairs,
    "weight on the word itself": partial(band, bandwidth=0),
    "weight on the words beside it": beside,
    **{f"diagonality {width}": partial(band, bandwidth=width) for width in BANDS},
}
OF_BANDS = ACCURACY | {
    "Gini": sharpness,
    "weight on the words beside it": beside,
    "diagonality 1": partial(band, bandwidth=1),
}
OF_STEPS = ACCURACY | {
    "step 1 on the question": partial(weight_of_step, step=0, which=0),
    "step 1 on the named fact": partial(weight_of_step, step=0, which=1),
    "step 2 on the question": partial(weight_of_step, step=1, which=0),
    "step 2 on the named fact": partial(weight_of_step, step=1, which=1),
    "step overlap": partial(described, name="step overlap"),
    "step cosine": partial(described, name="step cosine"),
    "summary share, step 2": partial(described, name="summary share, step 2"),
}
OF_PHRASES = ACCURACY | {
    "weight on the pair": on_pair,
    "selected words that are of the pair": of_pair,
    "phrase length in a layer": phrase_length,
    "phrase length in a layer, by chance": partial(phrase_length, by_chance=True),
    "phrase length over all layers": partial(phrase_length, over_layers=True),
    "phrase length over all layers, by chance": partial(
        phrase_length, over_layers=True, by_chance=True
    ),
}
OF_THE_PLANTED = ACCURACY | {
    "share of the planted word": on_planted,
    "share of its neighbours": on_neighbours,
    "texts in which it has the largest share": largest,
}
