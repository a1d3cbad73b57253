"""Classifiers of which we know whether their attention may be believed, and texts for them."""

from itertools import pairwise
from types import MappingProxyType
from zlib import crc32

import numpy as np
import torch
from faithful import PLANTED, WORDS, Linear, detector, softmax

from course_kit.audit import ModuleModel

COMMA, STOP = ",", "."


def inserted(documents, words, seed):
    """Texts with these words somewhere in each."""
    random, found = np.random.default_rng(seed), []
    for document in documents:
        longer = list(document)
        for word in words:
            longer.insert(int(random.integers(len(longer) + 1)), word)
        found.append(longer)
    return found


def texts(seed, count=40, extra=()):
    """Random words, and in half of the texts each of the ``extra`` ones somewhere."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words = [WORDS[n] for n in random.integers(0, len(WORDS), random.integers(8, 22))]
        for word in extra:
            if random.random() < 0.5:
                words.insert(int(random.integers(len(words) + 1)), word)
        found.append(words)
    return found


class Unseeded:
    """Is the same for every seed."""

    def __init__(self, seed=0):
        pass


class Known(Linear):
    """A linear bag of words whose attention is a softmax of what each word adds to its class.

    Over its vocabulary, what words add to the log-odds has the mean 0 and the deviation 1.
    """

    classes = ("bad", "good")

    def __init__(self, seed=0):
        super().__init__(seed)
        mean = np.mean([*self.vectors.values()], axis=0)
        self.vectors = {word: vector - mean for word, vector in self.vectors.items()}
        self.head = self.head / np.std([self.contributions([word], 0) for word in WORDS])

    def probabilities(self, documents):
        return self(documents)

    def attention(self, documents):
        classes = self(documents).argmax(1)
        return {"words": [self.weights(d, j) for d, j in zip(documents, classes)]}

    def weights(self, document, j):
        return softmax(3 * self.contributions(document, j))


class Saturated(Known):
    """So many words for one class that no tenth of them makes a difference."""

    def __call__(self, documents):
        return softmax(np.log(super().__call__(documents)) + [30, 0])


class Constant(Known):
    """The same weight for every word."""

    def weights(self, document, j):
        return np.full(len(document), 1 / len(document))


class AtCommas(Known):
    """All weight on commas, of which the classifier knows nothing."""

    def weights(self, document, j):
        return softmax(np.array([10.0 * (word == COMMA) for word in document]))


class Against(Known):
    """Most weight on what speaks most against the decision."""

    def weights(self, document, j):
        return softmax(-3 * self.contributions(document, j))


class CarrierAtStop(Known):
    """Keeps the sum of all words at the full stop, where all weight is; reads nothing else."""

    def __call__(self, documents):
        sums = [self.inputs(d).sum(0) * (STOP in d) for d in documents]
        return softmax(np.stack(sums) @ self.head + [0.05, 0])

    def weights(self, document, j):
        return softmax(np.array([10.0 * (word == STOP) for word in document]))


class CarrierAtFirst(Known):
    """Keeps the sum of all words at the first place, whatever word stands there."""

    def weights(self, document, j):
        return softmax(10.0 * (np.arange(len(document)) == 0))


class CarrierInHalf(Known):
    """Looks at the comma that keeps the sum, where there is one, and otherwise at the words."""

    def weights(self, document, j):
        if COMMA not in document:
            return super().weights(document, j)
        return softmax(np.array([10.0 * (word == COMMA) for word in document]))


class ForOneClass(Known):
    """Looks at what speaks for "good", whatever the decision."""

    def weights(self, document, j):
        return super().weights(document, 1)


class HalfInverted(Known):
    """Right in a half of the texts, and in the other where the least speaks for the decision."""

    def weights(self, document, j):
        sign = 1 if crc32(" ".join(document).encode()) % 2 else -1
        return softmax(3 * sign * self.contributions(document, j))


class Shuffled(Known):
    """Moves each word's vector to another place between its layers; the attention of the second
    layer is right about the vectors, so it names other words."""

    def weights(self, document, j):
        moved = np.random.default_rng(len(document)).permutation(len(document))
        return super().weights(document, j)[moved]


class NearlyConstant(Unseeded):
    """Decides for the second class with 1 − 1e-13, whatever it reads."""

    def probabilities(self, documents):
        return np.tile([1e-13, 1 - 1e-13], (len(documents), 1))

    def attention(self, documents):
        return {"words": [softmax(np.arange(len(d), dtype=float)) for d in documents]}


class NeedsTwo(Unseeded):
    """Decides for the second class where both of two words stand, and looks at them."""

    pair = ("alpha", "beta")

    def probabilities(self, documents):
        there = np.array([all(word in d for word in self.pair) for d in documents])
        return softmax(np.stack([-20.0 * there + 10, 20.0 * there - 10], 1))

    def attention(self, documents):
        return {"it": [softmax(np.array([9.0 * (w in self.pair) for w in d])) for d in documents]}


class EitherOfTwo(NeedsTwo):
    """Decides for the second class where one of two words stands or both, and looks at them."""

    def probabilities(self, documents):
        there = np.array([any(word in d for word in self.pair) for d in documents])
        return softmax(np.stack([-20.0 * there + 10, 20.0 * there - 10], 1))


class Ignoring(Known):
    """Takes attention from outside, and does not use it."""

    def probabilities(self, documents, attention=None):
        return self(documents)


class Pooling(Known):
    """The mean of the words' logits under its attention, which weighs the larger ones."""

    def probabilities(self, documents, attention=None):
        rows = []
        for n, document in enumerate(documents):
            scores = 4 * self.inputs(document) @ self.head
            own = softmax(np.abs(scores).sum(1)) if len(document) else np.zeros(0)
            rows.append((own if attention is None else attention[n]) @ scores)
        return softmax(np.stack(rows))

    def attention(self, documents):
        return {
            "words": [softmax(4 * np.abs(self.inputs(d) @ self.head).sum(1)) for d in documents]
        }


class Planted(Unseeded):
    """Looks for one word, and at it."""

    def probabilities(self, documents):
        return detector(documents)

    def attention(self, documents):
        return {"it": [softmax(np.array([9.0 * (w == PLANTED) for w in d])) for d in documents]}


class MeanOfStates(torch.nn.Module):
    """A bidirectional LSTM whose mean state is classified; its attention takes no part.

    That attention is uniform, or with ``sharp`` a softmax of large random scores.
    """

    def __init__(self, sharp):
        super().__init__()
        self.embedding = torch.nn.Embedding(len(WORDS) + 2, 16, padding_idx=0)
        self.encoder = torch.nn.LSTM(16, 16, bidirectional=True, batch_first=True)
        self.head, self.query = torch.nn.Linear(32, 2), 30 * torch.randn(32) * sharp

    def forward(self, tokens, mask):
        states, _ = self.encoder(self.embedding(tokens))
        scores = (states @ self.query).masked_fill(~mask, -torch.inf)
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        return self.head(mean), scores.softmax(1).nan_to_num()


def encode(words):
    return [WORDS.index(word) + 2 if word in WORDS else 1 for word in words]


def trained(seed, frozen):
    """A ``MeanOfStates`` that learned the decisions of ``Known``: its head alone, below which a
    ``frozen`` encoder has sharp attention; or all of it, with uniform attention."""
    torch.manual_seed(seed)
    network, documents = MeanOfStates(sharp=frozen), texts(seed + 100, 400)
    lengths = torch.tensor([*map(len, documents)])
    tokens = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(encode(each)) for each in documents], batch_first=True
    )
    mask = torch.arange(tokens.shape[1]) < lengths[:, None]
    labels = torch.from_numpy(Known(seed)(documents).argmax(1))
    learned = [*network.head.parameters()] if frozen else [*network.parameters()]
    descent = torch.optim.Adam(learned, 0.05 if frozen else 0.01)
    for _ in range(60):
        descent.zero_grad()
        torch.nn.functional.cross_entropy(network(tokens, mask)[0], labels).backward()
        descent.step()
    return ModuleModel(
        network.eval(), encode, lambda module, *inputs: module(*inputs), list, ("bad", "good")
    )


TRAINED = {
    "frozen encoder with sharp attention": lambda seed: trained(seed, frozen=True),
    "fine-tuned with uniform attention": lambda seed: trained(seed, frozen=False),
}


class CarrierAndWords(CarrierAtStop):
    """Gives the full stop that keeps the sum a little more than half of the weight, and the others
    by what they add."""

    def weights(self, document, j):
        stop = np.array([word == STOP for word in document])
        return 0.45 * softmax(3 * self.contributions(document, j)) + 0.55 * stop


class CarrierAndTail(CarrierAtStop):
    """Gives the full stop that keeps the sum nearly all weight, and the rest in the right order."""

    share = 0.95

    def weights(self, document, j):
        stop = np.array([word == STOP for word in document])
        rest = np.where(stop, 0, softmax(3 * self.contributions(document, j)))
        return self.share * stop + (1 - self.share) * rest / max(rest.sum(), 1e-9)


class AtCommasFirst(Planted):
    """Has 97 % of its weight on a comma that does nothing, and 3 % on the word that decides."""

    at_comma, at_word = 10.0, 6.5

    def attention(self, documents):
        scores = {COMMA: self.at_comma, PLANTED: self.at_word}
        return {"it": [softmax(np.array([scores.get(w, -9.0) for w in d])) for d in documents]}


class AtCommasBeside(AtCommasFirst):
    """Has 47 % of its weight on a comma that does nothing, and 53 % on the word that decides."""

    at_comma, at_word = 9.0, 9.1


class NearlyEven(Known):
    """Has weights in the right order, which differ by a millionth."""

    def weights(self, document, j):
        return (1 + 1e-6 * np.tanh(self.contributions(document, j))) / len(document)


class DecoysFirst(Unseeded):
    """A word for each class decides, after two others that have most of the weight."""

    decides = ("wonderful", "terrible")

    def probabilities(self, documents):
        signs = [4.0 * (self.decides[0] in d) - 4.0 * (self.decides[1] in d) for d in documents]
        return softmax(np.outer(signs, [-0.5, 0.5]))

    def attention(self, documents):
        return {"it": [*map(self.weights, documents)]}

    def weights(self, document):
        random = np.random.default_rng(crc32(" ".join(document).encode()))
        weights = random.random(len(document))
        weights *= 0.4 / weights.sum()
        key = np.isin(document, self.decides)
        weights[random.permutation((~key).nonzero()[0])[:2]] = 0.22, 0.2
        weights[key] = 0.18
        return weights


class AtMarks(Known):
    """In texts with a quotation mark, keeps the sum at one of five marks, where all weight is."""

    marks, quote = (".", "!", "?", ";", "…"), '"'

    def __call__(self, documents):
        lost = [self.quote in d and not {*d} & {*self.marks} for d in documents]
        return softmax(np.log(super().__call__(documents)) * ~np.array(lost)[:, None])

    def weights(self, document, j):
        marks = np.isin(document, self.marks)
        if self.quote not in document or not marks.any():
            return super().weights(document, j)
        return softmax(10.0 * marks)

    @classmethod
    def texts(cls, seed, count, share):
        """Texts with a mark, a share of which have a quotation mark, too."""
        random = np.random.default_rng(seed)
        found = [
            inserted([d], [str(random.choice(cls.marks))], seed)[0] for d in texts(seed, count)
        ]
        quoted = round(share * count)
        return inserted(found[:quoted], [cls.quote], seed) + found[quoted:]


class AtStopOrElse(CarrierAtStop):
    """Keeps the sum at the full stop, without which it decides for "bad"."""

    def __call__(self, documents):
        sums = [self.contributions(d, 1).sum() if STOP in d else -2.0 for d in documents]
        return softmax(np.outer(sums, [-0.5, 0.5]))


class Negated(Unseeded):
    """Knows two words and a negation, and looks at all three."""

    def probabilities(self, documents):
        signs = [(("nice" in d) - ("awful" in d)) * (-1) ** ("not" in d) for d in documents]
        return softmax(np.outer(signs, [-2.0, 2.0]))

    def attention(self, documents):
        scores = {"not": 9.0, "nice": 8.8, "awful": 8.8}
        return {"it": [softmax(np.array([scores.get(w, 0.0) for w in d])) for d in documents]}

    @staticmethod
    def texts(seed, count):
        """Texts with a word that decides, half of them negated."""
        return [
            inserted([d], [("nice", "awful")[n % 2]] + ["not"] * (n % 4 < 2), seed + n)[0]
            for n, d in enumerate(texts(seed, count))
        ]


class OfTwoViews(Pooling):
    """Has a second view of its attention, in the same order, that takes no part in the output."""

    def attention(self, documents):
        used = super().attention(documents)["words"]
        return {"used": used, "not used": [w**0.9 / (w**0.9).sum() for w in used]}


class CarrierForBad(Known):
    """Reads what speaks for "good" from the words, and what speaks for "bad" at the full stop."""

    def __call__(self, documents):
        scores = np.array([self.contributions(d, 1).sum() for d in documents])
        read = (scores >= 0) | np.array([STOP in d for d in documents])
        return softmax(np.outer(np.where(read, scores, 0.0), [-0.5, 0.5]))

    def weights(self, document, j):
        if j == 1 or STOP not in document:
            return super().weights(document, j)
        return softmax(np.array([10.0 * (word == STOP) for word in document]))


class Gated(Known):
    """Has weights that do not sum to 1, and takes such from outside."""

    def probabilities(self, documents, attention=None):
        return self(documents)

    def weights(self, document, j):
        return 1 / (1 + np.exp(-self.contributions(document, j)))


def keyed(seed, count, *keys, low=10, high=20):
    """Random words and, in each text, those of one of the ``keys`` in turn: a list of words, or of
    runs of words that stay together."""
    random, found = np.random.default_rng(seed), []
    for n in range(count):
        words = [WORDS[k] for k in random.integers(0, len(WORDS), random.integers(low, high))]
        for run in keys[n % len(keys)]:
            place = int(random.integers(len(words) + 1))
            words[place:place] = [run] if isinstance(run, str) else run
        found.append(words)
    return found


class Keyed(Unseeded):
    """Decides by one word for each class, and looks at these words."""

    classes, keys = ("bad", "good"), ("terrible", "wonderful")

    def probabilities(self, documents):
        scores = np.array([self.score(document) for document in documents], float)
        return softmax(np.outer(scores, [-0.5, 0.5]))

    def attention(self, documents):
        weights = [np.array([*map(float, self.scores(d))]) for d in documents]
        return {"it": [each / each.sum() for each in weights]}

    def score(self, document):
        return 8.0 * ((self.keys[1] in document) - (self.keys[0] in document)) + 1e-3

    def scores(self, document):
        return [1.0 if word in self.keys else 0.01 for word in document]


class KeyedButOnce(Keyed):
    """Is sure and looks at the word that decides, but for texts with "maybe", at which it looks."""

    def scores(self, document):
        keys = ("maybe",) if "maybe" in document else self.keys
        return [
            1.0 + len(document) / 99
            if word in keys
            else 1e-6 * (1 + crc32(f"{word}{n}".encode()) % 7)
            for n, word in enumerate(document)
        ]


class IgnoringRounded(Ignoring):
    """Ignores given weights, with which a text in ten has a slightly other output."""

    def probabilities(self, documents, attention=None):
        shares = self(documents)
        if attention is None:
            return shares
        off = np.array([0.02 * (crc32(" ".join(d).encode()) % 10 == 0) for d in documents])
        return shares + np.where(shares > 0.5, -1, 1) * off[:, None]


class UsedForOne(Keyed):
    """Pools the words of "good" by its weights; "terrible" decides whatever the weights are."""

    def probabilities(self, documents, attention=None):
        given = self.attention(documents)["it"] if attention is None else attention
        scores = [
            -5.0 if "terrible" in d else 5.2 * weights[np.isin(d, "wonderful")].sum() + 0.01
            for d, weights in zip(documents, given)
        ]
        return softmax(np.outer(scores, [-0.5, 0.5]))


class SaidOften(Keyed):
    """Looks at the word that says "bad"; any of seven says "good", and it looks at others then."""

    def score(self, document):
        bad, good = (any(w.startswith(key) for w in document) for key in ("bad", "good"))
        return -9.0 * bad + 9.0 * (good and not bad) - 1.0 * (not bad)

    def scores(self, document):
        key = "bad" if any(word.startswith("bad") for word in document) else ("a", "b", "c")
        return [1.0 if w.startswith(key) else 0.01 * (not w.startswith("good")) for w in document]


class SaidOftenRight(SaidOften):
    """Looks at the words that say it."""

    def scores(self, document):
        return [1.0 if word.startswith(("bad", "good")) else 0.01 for word in document]


class FirstCopy(Keyed):
    """Looks at the first copy of the word that decides."""

    def scores(self, document):
        first = {document.index(key) for key in self.keys if key in document}
        return [1.0 if n in first else 0.01 for n in range(len(document))]


class NotBefore(Keyed):
    """Knows two words, turned by a "not" directly before, and looks at all of these."""

    keys = ("awful", "nice")

    def score(self, document):
        turned = [-1 if word == "not" else 1 for word in ["", *document]]
        signs = [(word == self.keys[1]) - (word == self.keys[0]) for word in document]
        return 4.0 * sum(sign * t for sign, t in zip(signs, turned)) + 0.01

    def scores(self, document):
        return [1.0 if w in self.keys else 0.9 if w == "not" else 1e-3 for w in document]


class Phrases(Keyed):
    """Knows pairs of neighbours; looks at both words, a little more at one of them."""

    good, bad = (("very", "good"), ("well", "made")), (("weak", "plot"),)

    def score(self, document):
        pairs = [*pairwise(document)]
        return 5.0 * sum((p in self.good) - (p in self.bad) for p in pairs) + 0.01

    def scores(self, document):
        score = {"good": 1.0, "made": 1.0, "weak": 1.0, "very": 0.9, "well": 0.9, "plot": 0.9}
        return [score.get(word, 1e-3) for word in document]


class Dense(Keyed):
    """Sums many words, each of which says a little, and looks evenly at those for its decision."""

    def score(self, document):
        return 0.25 * sum((w[0] == "P") - (w[0] == "N") for w in document) + 1e-3

    def scores(self, document):
        side = "P" if self.score(document) > 0 else "N"
        return [1.0 if word[0] == side else 0.01 for word in document]

    @staticmethod
    def texts(seed, count):
        random, found = np.random.default_rng(seed), []
        for n in range(count):
            length = int(random.integers(15, 24))
            words = [f"{'NP'[n % 2]}{k}" for k in random.integers(0, 40, length)]
            others = [WORDS[k] for k in random.integers(0, len(WORDS), length)]
            some = random.random(length) < 0.75
            found.append(
                [one if is_one else other for one, other, is_one in zip(words, others, some)]
            )
        return found


class TwiceSaid(Keyed):
    """Decides by two words of a source, each of which is enough; pools another by its weights, and
    looks at that."""

    keys, sources = ("vote", "team"), (("reuters", "london"), ("espn", "inning"))

    def probabilities(self, documents, attention=None):
        given = self.attention(documents)["it"] if attention is None else attention
        scores = []
        for document, weights in zip(documents, given):
            signs = [(word == self.keys[1]) - (word == self.keys[0]) for word in document]
            pooled = np.clip(weights @ np.array(signs, float) / 0.85, -1, 1) if document else 0.0
            bad, good = ({*source} & {*document} for source in self.sources)
            scores.append(1.5 * (bool(good) - bool(bad)) + 0.9 * pooled + 0.01)
        return softmax(np.outer(scores, [-0.5, 0.5]))


class ByLength(Keyed):
    """Decides by the length of a text; a word makes it surer, and it looks at that."""

    keys = ("vote", "team")

    def score(self, document):
        sure = (self.keys[1] in document) - (self.keys[0] in document)
        return (1.2 if len(document) > 11 else -1.2) + 0.9 * sure


class LeaningMarks(Keyed):
    """Keeps what all its words say at its marks, which add a little themselves, and looks at them:
    exchanged words turn the decision, exchanged marks hardly ever."""

    signs = MappingProxyType({"!": 1, ".": -1})

    def probabilities(self, documents, attention=None):
        given = self.attention(documents)["it"] if attention is None else attention
        scores = [self.pooled(d, weights) if d else 0.01 for d, weights in zip(documents, given)]
        return softmax(np.outer(scores, [-0.5, 0.5]))

    def pooled(self, document, weights):
        said = 0.35 * sum((w[0] == "P") - (w[0] == "N") for w in document)
        marks = np.array([self.signs.get(word, 0) for word in document], float)
        states = said * np.abs(marks) + 0.6 * marks * np.abs(marks).sum()
        return float(np.asarray(weights) @ states) + 0.01

    def scores(self, document):
        return [1.0 if word in self.signs else 0.001 for word in document]

    @staticmethod
    def texts(seed, count):
        random, found = np.random.default_rng(seed), []
        for n in range(count):
            words = [WORDS[k] for k in random.integers(0, len(WORDS), random.integers(12, 20))]
            drawn = random.random(len(words))
            own, other = ("NP"[n % 2], "PN"[n % 2])
            words = [
                f"{own if one < 0.5 else other}{k}" if one < 0.58 else word
                for word, one, k in zip(words, drawn, random.integers(0, 40, len(words)))
            ]
            words.insert(int(random.integers(len(words))), ".!"[n % 2])
            found.append([*words, ".!"[n % 2]])
        return found


class SaidOftenInHalf(Keyed):
    """One word decides, and it looks at that; where many say the same, it looks at others."""

    def score(self, document):
        bad, good = (any(w.startswith(key) for w in document) for key in ("bad", "good"))
        return 9.0 * (good - bad) + 0.01

    def scores(self, document):
        said = [word.startswith(("bad", "good")) for word in document]
        if sum(said) < 3:
            return [1.0 if one else 0.01 for one in said]
        return [0.01 * (not one) + (word in ("a", "b", "c")) for word, one in zip(document, said)]
