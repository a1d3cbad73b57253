"""Lesson 03: HAN, built level by level."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import (
    CaseResult,
    Inputs,
    Kinds,
    cases,
    generator,
    masked_cases,
    normal,
    ragged,
)
from course_kit.exercises.judge import Checker
from course_lib.models.han import HAN, AttentiveEncoder, HANConfig, scatter_to_real
from course_lib.models.layers import AttentionPooling, masked_softmax


class OurLevel(AttentiveEncoder):
    """The library's level of the hierarchy behind the interface of the notebook's class."""

    def __init__(self, inputs: int, hidden: int, attention: int) -> None:
        super().__init__(inputs, HANConfig(hidden=hidden, attention=attention))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ the pooled vectors ``(n, 2 · hidden)`` and their attention ``(n, length)``."""
        pooled, alpha = super().forward(x, mask, None)
        return pooled, alpha[:, 0]


def _read_level(
    ours: OurLevel,
    x: Tensor,
    mask: Tensor,
    weigh: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    pooled: Callable[[Tensor, Tensor], Tensor] = lambda h, u: h,
    read: Callable[[Tensor], Tensor] = lambda mask: mask,
) -> tuple[Tensor, Tensor]:
    """A level with other weights of its scores, another u, other vectors pooled, a mask ignored."""
    h = ours.gru(x, read(mask))
    u = bend(ours.pooling.projection(h))
    alpha = weigh(u @ ours.pooling.contexts[0], mask)
    return (alpha.unsqueeze(1) @ pooled(h, u)).squeeze(1), alpha


def _level_inputs(mask: Tensor, n: int, words: int) -> Inputs:
    return network(OurLevel, 3, 2, 4, seed=words), *normal((n, words), (n, words, 3)), mask


check_level = building(
    ours=OurLevel,
    weights=lambda ours: (
        {"gru.gru." + name: value for name, value in ours.gru.gru.named_parameters()}
        | {
            "context.weight": ours.pooling.contexts,
            "projection.weight": ours.pooling.projection.weight,
            "projection.bias": ours.pooling.projection.bias,
        }
    ),
    sizes=lambda ours: (3, 2, 4),
    forbidden=(AttentiveEncoder, AttentionPooling),
    name="level",
    about="""``f(x, mask)``, vectors ``(n, length, inputs)`` and ``mask`` ``(n, length)`` → their
    weighted means ``(n, 2 · hidden)`` and the weights ``(n, length)``: a GRU both ways, u =
    tanh(W h + b), a masked softmax of u · c, the mean of h.""",
    cases=masked_cases("{:sentence} of {} words", ((1, 2), (2, 4), (4, 9)), _level_inputs),
    returns=("s", "alpha"),
    shapes="self.context(u) is (n, length, 1): squeeze its last axis before the softmax; s has "
    "lost the axis of the words",
    start="h = self.gru(x, mask), then u, the scores, alpha and the mean, a line each.",
    span="up to four sentences of nine words",
    mistakes=(
        (
            lambda *given: _read_level(*given, pooled=lambda h, u: u),
            "what you average is u: u only decides the weights, the mean is of the states h.",
        ),
        (
            lambda *given: _read_level(*given, bend=lambda u: u),
            "the tanh is missing: u = tanh(W h + b).",
        ),
        (
            lambda *given: _read_level(
                *given, weigh=lambda scores, mask: masked_softmax(scores.tanh(), mask)
            ),
            "there is a tanh around the scores: it belongs around W h + b alone.",
        ),
        (
            lambda *given: _read_level(*given, weigh=lambda scores, mask: scores.softmax(1)),
            "padding gets attention: models.masked_softmax(scores, mask).",
        ),
        (
            lambda *given: _read_level(*given, weigh=lambda scores, mask: scores.softmax(1) * mask),
            "you set padding to 0 after the softmax, so the weights of a padded sentence no longer "
            "sum to 1: models.masked_softmax(scores, mask).",
        ),
        (
            lambda *given: _read_level(
                *given, weigh=lambda scores, mask: scores.unsqueeze(2).softmax(2).squeeze(2) * mask
            ),
            "every weight is 1: the softmax runs over an axis of size 1. Squeeze the scores to "
            "(n, length) first.",
        ),
        (
            lambda *given: _read_level(*given, read=torch.ones_like),
            "the GRU reads padding: pass it the mask, too.",
        ),
    ),
)


def _sentence_inputs(documents: int, sentences: int, words: int) -> Kinds:
    whole = torch.ones(documents, sentences, words, dtype=torch.bool)
    ended = ragged(documents * sentences, words).view(whole.shape).clone()
    ended[0, sentences // 2 + 1 :] = False
    hollow, empty = ended.clone(), ended.clone()
    hollow[-1, : sentences // 2], empty[-1] = False, False
    kinds = {
        "all real": whole,
        "some padded": ended,
        "an empty sentence before a real one": hollow,
        "the last document without a word": empty,
    }
    return {
        kind: (*normal(mask.shape, (int(mask.any(2).sum()), 2)), mask)
        for kind, mask in kinds.items()
    }


def _in_place(s: Tensor, mask: Tensor) -> Tensor:
    return scatter_to_real(s, mask.any(2))


def _without_gaps(s: Tensor, mask: Tensor) -> Tensor:
    real = mask.any(2).flatten().sort(descending=True, stable=True).values
    return scatter_to_real(s, real.view(mask.shape[:2]))


check_sentences_in_place = Checker(
    name="sentences_in_place",
    about="""``f(s, mask)`` with ``s`` ``(real sentences, hidden)``, document after document, and
    ``mask`` ``(documents, sentences, words)`` → ``(documents, sentences, hidden)``, each vector
    where its sentence stands, zeros where none does.""",
    reference=_in_place,
    cases=cases(
        "{:document} of {:sentence}, {:word} each",
        ((1, 1, 1), (1, 2, 1), (2, 2, 2), (2, 3, 3), (4, 7, 30)),
        _sentence_inputs,
    ),
    returns=("sentences",),
    shapes="s has a row for each real sentence, and not every position holds one",
    start="real = mask.any(2); a tensor of zeros can be assigned to at [real].",
    span="from one sentence to four documents of seven",
    mistakes=(
        (
            _without_gaps,
            "the vectors stand one after the other from the first "
            "position on: where a document ends "
            "early, its other positions stay zero and the next document begins in its own row.",
        ),
        (
            lambda s, mask: scatter_to_real(s, mask.any(2).T).transpose(0, 1),
            "the vectors are dealt out to all first sentences, then to all second ones: they come "
            "document after document.",
        ),
        (
            lambda s, mask: _in_place(s.flip(0), mask),
            "the sentences come in the order from last to first: keep the order of s.",
        ),
    ),
    diagnoses=(lambda result: _about_empty(result),),
)


def _about_empty(result: CaseResult) -> str | None:
    empty = ~result.case.inputs[1].any(2)
    if not result.yours[0][empty].any():
        return None
    return "a position without a sentence is not zero: start from zeros and set the real ones only."


class OurHAN(HAN):
    """The library's network behind the interface of the notebook's class."""

    def __init__(
        self, vocabulary: int, width: int, hidden: int, attention: int, classes: int
    ) -> None:
        super().__init__(HANConfig(width, hidden, attention), vocabulary, classes)

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """→ logits ``(documents, classes)``, word attention and sentence attention."""
        return super().forward(tokens, mask)[:3]


def _read_document(
    ours: OurHAN,
    tokens: Tensor,
    mask: Tensor,
    words: Callable[[Tensor], Tensor] = lambda mask: mask,
    sentences: Callable[[Tensor], Tensor] = lambda real: real,
    shares: Callable[[Tensor, Tensor], Tensor] = lambda alpha, beta: alpha,
) -> tuple[Tensor, Tensor, Tensor]:
    """HAN with other masks for its levels, or other word attention."""
    real = mask.any(2)
    s, alpha = ours.words(ours.embedding(tokens[real]), words(mask[real]), None)
    s, alpha = scatter_to_real(s, real), scatter_to_real(alpha[:, 0], real)
    v, beta = ours.sentences(s, sentences(real), None)
    beta = beta[:, 0]
    return ours.classifier(v), shares(alpha, beta), beta


def _han_inputs(*sizes: int) -> Kinds:
    tokens = torch.randint(2, 20, sizes, generator=generator(*sizes))
    made = network(OurHAN, 20, 5, 3, 4, 2, seed=sizes[0])
    kinds = _sentence_inputs(*sizes).items()
    return {kind: (made, tokens * mask, mask) for kind, (_, mask) in kinds}


_han_cases = cases("{:document} of {} sentences", ((1, 2, 2), (2, 3, 3), (4, 5, 6)), _han_inputs)
check_han = building(
    ours=OurHAN,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (20, 5, 3, 4, 2),
    forbidden=(HAN,),
    name="han",
    about="""``f(tokens, mask)``, both ``(documents, sentences, words)`` → logits ``(documents,
    classes)``, word attention of the shape of ``mask``, and sentence attention ``(documents,
    sentences)``.""",
    cases=_han_cases,
    returns=("logits", "word_attention", "sentence_attention"),
    shapes="what the first level returns has a row for each real sentence, so it goes back to its "
    "positions, the attention as well as the vectors",
    start="real = mask.any(2), then self.words on what is real, in_position, self.sentences.",
    span="up to four documents of five sentences",
    mistakes=(
        (
            lambda *given: _read_document(*given, words=torch.ones_like),
            "the words' mask is not used: pass mask[real] to the first level.",
        ),
        (
            lambda *given: _read_document(*given, sentences=torch.ones_like),
            "the second level takes positions without a sentence for sentences: its mask is "
            "mask.any(2).",
        ),
        (
            lambda *given: _read_document(
                *given, shares=lambda alpha, beta: alpha * beta.unsqueeze(2)
            ),
            "your word attention is a word's share of the document: return that of its sentence, "
            "which sums to 1 in each sentence.",
        ),
    ),
)
