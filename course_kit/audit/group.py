"""Texts that an audit measures together, and what several of its questions need of them."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from course_kit.audit.asking import Asked, guarded, numbers
from course_kit.audit.names import ATTENTION, GRADIENT, LEFT_OUT, RANDOM, SIZE, UNTRAINED
from course_lib.faithfulness.agreement import kendall
from course_lib.faithfulness.documents import (
    Document,
    Variant,
    ask,
    lottery,
    predicted,
    whole,
    words_of,
)
from course_lib.faithfulness.erasure import SHARES, comprehensiveness, counts, orders, top_words
from course_lib.faithfulness.interventions import Answer
from course_lib.faithfulness.rankers import (
    Importances,
    gradient_times_input,
    leave_one_out,
    magnitude,
    random_importance,
)

SLOW_TEXTS = 30  # of an audit, for what asks a text very often
SLOW_STAGES = (REPLACED, REWEIGHTED) = ("a replaced word", "other weights")
# random rankings, whose losses are averaged, and which the limits know: of the way between them
# IRAM's attention goes 0.568 with 5 of them, 0.566 with 10 and 0.555 with 50
DRAWS, DRAWS_REPLACED = 5, 3
NOISE = 1e-3  # a loss below it is none
TIE = 0.01  # a lead of the most probable class below it decides nothing
UNKNOWN = "⟨unknown⟩"
TENTH, FIFTH = 0.1, 0.2  # of the words, rounded up
DELETED, TOGETHER, REPLACING = OPERATORS = "deleted", "with copies", "replaced"
Found = dict[str, np.ndarray]  # by name, one number a text, NaN for none
Places = list[np.ndarray]  # of some words of each text


class Sets(NamedTuple):
    """Words of each text by their ``places``, and the places that they take in its host, ``taken``:
    none where it has no host."""

    places: Places
    taken: Places


class Whole(NamedTuple):
    """All texts of an audit, their predicted ``classes`` and their probabilities, ``sure``, and the
    attention in each view, the first as ``ATTENTION``."""

    documents: list[Document]
    classes: np.ndarray
    sure: np.ndarray
    views: dict[str, Importances]


def whole_of(asked: Asked, documents: list[Document], at_once: int) -> Whole:
    """Ask for the decisions and the attention of all texts, some ``at_once``."""
    asked.stage, views = ATTENTION, {}
    for start in range(0, len(documents), at_once):
        for name, weights in asked.attention(documents[start : start + at_once]).items():
            views.setdefault(name, []).extend(weights)
    return Whole(documents, *predicted(asked, documents), views)


class Group:
    """Some texts of an audit, their rankings of words, and what removing words costs.

    Everything is computed when it is first asked for. Probabilities are those of the class that the
    model predicts for the whole text.

    Parameters
    ----------
    given: document, label, whether the most frequent label is right, and marked words of each text
    all_texts: what is known of all texts of the audit
    start: place of the first text; the slow measures read the first ``SLOW_TEXTS`` alone
    pool: the words of all texts of the audit; a random one of a random text fills the place of
        another, so that long texts do not weigh more
    twins: the model with another seed and before training, by the question that needs it
    """

    def __init__(
        self,
        asked: Asked,
        given: Sequence[tuple],
        all_texts: Whole,
        start: int,
        pool: Sequence[Sequence[str]],
        twins: dict[str, Asked],
        seed: int,
    ) -> None:
        self.asked, self.pool, self.twins, self.seed = asked, pool, twins, seed
        self.documents, self.labels, self.guesses, self.marks = map(list, zip(*given))
        self.all_texts, self.own = all_texts, slice(start, start + len(given))
        self.slow = self.documents[: max(0, SLOW_TEXTS - start)]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add what is asked while the context lasts to the cost of a stage."""
        before, self.asked.stage = self.asked.stage, name
        yield
        self.asked.stage = before

    @cached_property
    def views(self) -> dict[str, Importances]:
        """The attention that is tested, in each view; the first is ``ATTENTION``."""
        return {name: each[self.own] for name, each in self.all_texts.views.items()}

    @cached_property
    def answers(self) -> tuple[np.ndarray, np.ndarray]:
        """Each text's predicted class, and its probability, ``(texts,)``."""
        return self.all_texts.classes[self.own], self.all_texts.sure[self.own]

    @cached_property
    def twin_attention(self) -> dict[str, Importances]:
        """The attention of the model's twins, by question."""
        with self.stage(ATTENTION):
            return {
                name: twin.attention(self.documents)[ATTENTION] for name, twin in self.twins.items()
            }

    @cached_property
    def left_out(self) -> Importances:
        """What leaving out each word costs."""
        with self.stage(LEFT_OUT):
            return leave_one_out(self.asked, self.documents)

    @cached_property
    def random(self) -> list[Importances]:
        """``DRAWS`` random rankings."""
        return [random_importance(self.documents, self.seed + draw) for draw in range(DRAWS)]

    @cached_property
    def rankings(self) -> dict[str, Importances]:
        """All rankings of the words that are compared, but for the random ones, by name."""
        found = dict(self.views)
        if "training" in self.twins:
            found[UNTRAINED] = self.twin_attention["training"]
        if hasattr(self.asked.model, "gradients"):
            with self.stage(GRADIENT):
                ask = self.asked.gradients, self.asked, self.documents
                slopes = guarded("gradients", gradient_times_input, *ask)
            found[GRADIENT] = numbers(GRADIENT, slopes, self.documents, least=-math.inf)
            found[f"|{GRADIENT}|"] = magnitude(found[GRADIENT])
        return found | {LEFT_OUT: self.left_out, SIZE: magnitude(self.left_out)}

    @cached_property
    def losses(self) -> Found:
        """What removing the first ``SHARES`` of each ranking's words costs, ``(texts, shares)``;
        that of random words is the mean of their draws."""
        with self.stage("removal"):
            return self.lost(self.rankings)

    @cached_property
    def losses_by_operator(self) -> dict[str, Found]:
        """The losses by the views, by the size of leave-one-out and by random words, for each of
        ``OPERATORS``."""
        chosen = {name: self.rankings[name] for name in [*self.views, SIZE]}
        with self.stage("words replaced"):
            unknown = getattr(self.asked.model, "unknown", UNKNOWN)
            replaced = self.lost(chosen, DRAWS_REPLACED, filler=unknown)
        together = {name: _together(self.documents, each) for name, each in chosen.items()}
        with self.stage("copies together"):
            copies = self.lost(together | {SIZE: self.sizes_together})
        return dict(zip(OPERATORS, (self.losses, copies, replaced)))

    def lost(
        self, rankings: dict[str, Importances], draws: int = DRAWS, filler: str | None = None
    ) -> Found:
        """Return what removing the words of some rankings, and of ``draws`` random ones, costs at
        each of ``SHARES``; one call asks for all, since many remove the same words."""
        ranked = {name: [each] for name, each in rankings.items()} | {RANDOM: self.random[:draws]}
        compared = [*chain.from_iterable(ranked.values())]
        ends = np.cumsum([len(each) for each in ranked.values()])[:-1]
        losses = comprehensiveness(
            self.asked,
            self.documents * len(compared),
            [*chain.from_iterable(compared)],
            SHARES,
            filler=filler,
            seed=self.seed,
        ).reshape(len(compared), len(self.documents), -1)
        return dict(zip(ranked, (each.mean(0) for each in np.split(losses, ends))))

    def changed(self, rankings: dict[str, Importances], share: float) -> Found:
        """Return how often, 0 or 1 and for random words a mean, the decision changes without a
        share of the words by some rankings; one with a lead below ``TIE`` is none.

        Removal has asked for these texts already.
        """
        ranked = {name: [each] for name, each in rankings.items()} | {RANDOM: self.random}
        found: Found = {}
        for name, draws in ranked.items():
            ordered = [orders(self.documents, each, self.seed) for each in draws]
            left = [
                Variant(document, ~top_words(order, int(counts(len(order), [share])[0])))
                for each in ordered
                for document, order in zip(self.documents, each)
            ]
            answers = ask(self.asked, left, self.asked.stage)
            own = np.tile(self.answers[0], len(draws))[:, None]
            sure = np.take_along_axis(answers, own, 1)[:, 0]
            np.put_along_axis(answers, own, -1.0, 1)
            found[name] = (sure - answers.max(1) < TIE).reshape(len(draws), -1).mean(0)
        return found

    @cached_property
    def counted(self) -> np.ndarray:
        """Whether each text ``(texts,)`` has words that matter: leaving out one, with its copies or
        without, or the first words by other rankings than the attention, is no noise."""
        tested = {*self.views, UNTRAINED}
        losses = [np.abs(each).max(1) for name, each in self.losses.items() if name not in tested]
        single = [[each.max() for each in of] for of in (self.rankings[SIZE], self.sizes_together)]
        return np.max([*losses, *single], axis=0) > NOISE

    @cached_property
    def sizes_together(self) -> Importances:
        """The size of what leaving out a word with all its copies costs, for each word."""
        kept = []
        for document in self.documents:
            words = np.array(words_of(document))
            types = dict.fromkeys(words.tolist())
            # a text of one type stays as it is: without it there is nothing to ask about
            gone = types if len(types) > 1 else [""]
            kept.append([Variant(document, words != word) for word in gone])
        with self.stage("copies together"):
            answers = ask(self.asked, [*chain.from_iterable(kept)], self.asked.stage)
        found, parts = [], np.split(answers, np.cumsum([len(each) for each in kept])[:-1])
        for document, part, j, sure in zip(self.documents, parts, *self.answers):
            words = words_of(document)
            by_word = dict(zip(dict.fromkeys(words), np.abs(sure - part[:, j])))
            found.append(np.array([by_word[word] for word in words]))
        return found

    def first(self, view: str) -> list[int]:
        """How many words of each text are the first of a view: those that hold half of its weight,
        at most a tenth.

        Without the first limit a word that holds all the weight would be measured together with
        words that happen to come next.
        """
        return first_of(self.views[view])

    def several(self, view: str) -> list[int]:
        """How many words of each text hold nine tenths of a view's weight, at most a fifth."""
        return several_of(self.views[view])

    def hosts(self, draw: int) -> list[int]:
        """A random text of the audit with another decision for each text, by its place; none where
        all have one decision."""
        found, classes = [], self.all_texts.classes
        if len(np.unique(classes)) == 1:
            return found
        for document, own in zip(self.documents, self.answers[0]):
            others = (classes != own).nonzero()[0]
            found.append(others[lottery(document, self.seed + 1 + draw).integers(len(others))])
        return found

    def masks(self, places: Places) -> list[np.ndarray]:
        """Return which words of each text are at some places, bool ``(words,)``."""
        lengths = [len(words_of(document)) for document in self.documents]
        return [np.isin(np.arange(length), each) for length, each in zip(lengths, places)]

    def grafted(self, sets: Sets, draw: int, run: bool = False) -> list[Document]:
        """Return the host of each text, some words of which are replaced by words of the text.

        The first takes the place of the first; or, as a ``run``, the host's words go, and those of
        the text stand in reading order where the foremost of them was.
        """
        found = []
        for n, (document, host) in enumerate(zip(self.documents, self.hosts(draw), strict=True)):
            host, own = self.all_texts.documents[host], words_of(document)
            cells = [[word] for word in words_of(host)]
            places, taken = sets.places[n], sets.taken[n]
            if run and len(places):
                for place in taken:
                    cells[place] = []
                cells[min(taken)] = [own[place] for place in sorted(places)]
            else:
                for place, source in zip(taken, places):
                    cells[place] = [own[source]]
            found.append(_of_cells(host, cells))
        return found

    def exchanged(self, keep: list[np.ndarray], draw: int) -> list[Document]:
        """Return the texts with words of other texts in all places that are not kept.

        No word comes in of which the text has a copy among the words that stay, or among its first
        ones by the size of leave-one-out, or it would decide as they do.
        """
        found = []
        size = orders(self.documents, self.rankings[SIZE], self.seed)
        tops = self.masks([order[: share_of(len(order), TENTH, 1)] for order in size])
        for document, kept, top in zip(self.documents, keep, tops):
            own = {word for word, one in zip(words_of(document), kept | top) if one}
            random = lottery(document, self.seed + 1 + draw)
            drawn = random.random((4 * len(kept), 2)).tolist()
            texts = (self.pool[int(first * len(self.pool))] for first, _ in drawn)
            others = [words[int(second * len(words))] for words, (_, second) in zip(texts, drawn)]
            others = [word for word in others if word not in own][: len(kept)]
            others += words_of(document)[len(others) :]  # if all words are among them
            found.append(_filled(document, kept, others))
        return found

    def mean_losses(self, made: dict[str, list[list[Document]]]) -> Found:
        """Return by name what is lost in other documents, the mean over draws, NaN in texts without
        words that matter. ``made`` holds for each draw a document of each text; one call asks for
        all, so that documents of similar length go together."""
        documents = [*chain.from_iterable(chain.from_iterable(made.values()))]
        answers = ask(self.asked, [*map(whole, documents)], self.asked.stage)
        classes, sure = self.answers
        answers = answers.reshape(-1, len(self.documents), answers.shape[1])
        losses = sure - answers[:, np.arange(len(classes)), classes]  # (names × draws, texts)
        ends = np.cumsum([*map(len, made.values())])[:-1]
        means = (each.mean(0) for each in np.split(losses, ends))
        return dict(zip(made, map(self.where_counted, means)))

    def reweighted(
        self, view: str = ATTENTION
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray, Answer]]:
        """Yield of each slow text its place, the weights of a view with their real places, and the
        output for other weights.

        None where the model takes no weights, or they do not sum to 1; nor of a further view where
        ``attended`` moves all the attention together, which is asked of the first.
        """
        together = hasattr(self.asked.model, "attended")
        can = self.asked.takes_weights and not (together and view != ATTENTION)
        for n, document in enumerate(self.slow if can else ()):
            given, real, answer = self.asked.attended(document, self.views[view][n])
            if np.allclose(np.where(real.any(-1), given.sum(-1), 1), 1, atol=1e-3):
                yield n, given, real, answer

    def where_counted(self, values: np.ndarray) -> np.ndarray:
        """Return values ``(texts,)``, NaN in texts without words that matter."""
        return np.where(self.counted, values, math.nan)

    def none(self) -> np.ndarray:
        """Return NaN for each text."""
        return np.full(len(self.documents), math.nan)


def by_operator(ranking: str, operator: str) -> str:
    """Name what a ranking's words cost by one of ``OPERATORS``."""
    return ranking if operator == DELETED else f"{ranking}, {operator}"


def _together(documents: Sequence[Document], ranking: Importances) -> Importances:
    """Give each word the largest importance of its copies in the text, so that they go together."""
    found = []
    for document, values in zip(documents, ranking):
        words, most = words_of(document), {}
        for word, value in zip(words, values):
            most[word] = max(value, most.get(word, -np.inf))
        # a hair by the word, or copies of two words with equal importance would alternate
        place = {word: n * 1e-12 for n, word in enumerate(dict.fromkeys(words))}
        found.append(np.array([most[word] - place[word] for word in words]))
    return found


def _holding(weights: Importances, share: float) -> list[int]:
    """How many words of each text, the heaviest first, hold a share of the weight."""
    falling = [np.sort(each)[::-1].cumsum() for each in weights]
    return [int((each < share * each[-1]).sum()) + 1 for each in falling]


def first_of(weights: Importances) -> list[int]:
    """How many words of each text hold half of the weight, at most a tenth, at least 1."""
    limits = [share_of(len(each), TENTH, 1) for each in weights]
    return [min(*each) for each in zip(limits, _holding(weights, 0.5))]


def several_of(weights: Importances) -> list[int]:
    """How many words of each text hold nine tenths of the weight, at most a fifth, or 2."""
    limits = [share_of(len(each), FIFTH, 2) for each in weights]
    return [min(*each) for each in zip(limits, _holding(weights, 0.9))]


def share_of(words: int, share: float, least: int) -> int:
    """A share of a number of words, rounded up, at least ``least``."""
    return max(least, int(counts(words, [share])[0]))


def _of_cells(document: Document, cells: list[list[str]]) -> Document:
    """The document with the words of a cell in the place of each word; an empty sentence goes."""
    if isinstance(document[0], str):
        return [*chain.from_iterable(cells)]
    ends = np.cumsum([0, *map(len, document)])
    sentences = ([*chain.from_iterable(cells[start:end])] for start, end in pairwise(ends))
    return [sentence for sentence in sentences if sentence]


def _filled(document: Document, keep: np.ndarray, others: Sequence[str]) -> Document:
    """The document with the ``others`` in the places that are not kept, sentences as they are."""
    words = [word if kept else other for word, kept, other in zip(words_of(document), keep, others)]
    if isinstance(document[0], str):
        return words
    ends = np.cumsum([0, *map(len, document)])
    return [words[start:end] for start, end in pairwise(ends)]


def tau(first: Importances | None, second: Importances | None) -> np.ndarray:
    """Return Kendall's τ of each text: 0 for constant attention, which is in no order, and NaN
    without a second ranking."""
    if first is None or second is None:
        return np.full(len(first or second), math.nan)
    constant = np.array([np.ptp(one) == 0 and np.ptp(two) > 0 for one, two in zip(first, second)])
    return np.where(constant, 0.0, kendall(first, second))
