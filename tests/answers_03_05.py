"""Right answers to lessons 03 to 05, and wrong ones with what they are told."""

import torch
from torch import nn
from torch.nn.functional import nll_loss, normalize, pad

from course_kit.exercises import (
    check_diagonality,
    check_gini,
    check_han,
    check_iram,
    check_level,
    check_network_defect,
    check_sanet,
    check_sanet_block,
    check_sentences_in_place,
    check_shifted_attention,
    check_shortcut,
    check_step_penalty,
    check_step_price,
    check_steps,
    check_training_step,
)
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.metrics.steps import step_cosine, summary_share
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.iram import step_penalty
from course_lib.models.layers import positions

inf = torch.inf


def having(kind, **functions):
    return type(kind.__name__, (kind,), {n: staticmethod(f) for n, f in functions.items()})


def place_by_scatter(s, mask):
    real = mask.any(2).unsqueeze(2)
    return torch.zeros(*real.shape[:2], s.shape[1]).masked_scatter(real, s)


def place_from_the_first(s, mask):
    placed = torch.zeros(mask.shape[0] * mask.shape[1], s.shape[1])
    placed[: len(s)] = s
    return placed.view(*mask.shape[:2], -1)


def place_whole_sentences(s, mask):
    placed = torch.zeros(*mask.shape[:2], s.shape[1])
    placed[mask.all(2)] = s
    return placed


class LevelByRow(nn.Module):  # one sentence after the other
    bend, pooled = staticmethod(torch.tanh), staticmethod(lambda h, u: h)

    def __init__(self, inputs, hidden, attention):
        super().__init__()
        self.gru = BidirectionalGRU(inputs, hidden)
        self.c = nn.Linear(attention, 1, bias=False)
        self.projection = nn.Linear(2 * hidden, attention)

    def forward(self, x, mask):
        h, alpha = self.gru(x, mask), torch.zeros(mask.shape)
        u = self.bend(self.projection(h))
        for row, real in enumerate(mask):
            alpha[row, real] = self.c(u[row, real])[:, 0].softmax(0)
        return torch.einsum("nl,nld->nd", alpha, self.pooled(h, u)), alpha


class HANOfEverySentence(nn.Module):  # the empty ones, too
    there = staticmethod(lambda mask: mask.any(2))

    def __init__(self, vocabulary, width, hidden, attention, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.words = LevelByRow(width, hidden, attention)
        self.sentences = LevelByRow(2 * hidden, hidden, attention)
        self.classifier = nn.Linear(2 * hidden, classes)

    def forward(self, tokens, mask):
        s, alpha = self.words(self.embedding(tokens.flatten(0, 1)), mask.flatten(0, 1))
        v, beta = self.sentences(s.unflatten(0, mask.shape[:2]), self.there(mask))
        return self.classifier(v), alpha.view(mask.shape), beta


def step_by_hand(scale=1.0, late=False):
    def step(network, optimiser, batch):
        logits = network(batch.tokens, batch.mask)[0]
        loss = scale * nll_loss(logits.log_softmax(1), batch.labels)
        for call in (optimiser.zero_grad, loss.backward)[:: -1 if late else 1]:
            call()
        optimiser.step()
        return loss.detach()

    return check_training_step.adapt(step)


class StepsByList(nn.Module):  # one text after the other
    turned, refined = False, True

    def __init__(self, hidden, steps):
        super().__init__()
        self.steps = steps
        self.bilinear = nn.Parameter(torch.empty(hidden, hidden))
        self.gate, self.transform = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.controller = nn.GRUCell(hidden, hidden)

    def query(self, s, q):
        return self.controller(s, q)

    def forward(self, h, q, mask):
        read = [self.one(*given) for given in zip(h, q, mask, strict=True)]
        return tuple(map(torch.stack, zip(*read, strict=True)))

    def one(self, h, q, real):
        rows, found = [], []
        for _ in range(self.steps):
            entries = torch.stack([*h[real], *found]) if real.any() else h[:0]
            a = (q @ (self.bilinear.T if self.turned else self.bilinear) @ entries.T).softmax(0)
            row = torch.zeros(len(h) + self.steps - 1)
            row[: len(h)][real] = a[: real.sum()]
            row[len(h) : len(h) + len(a) - real.sum()] = a[real.sum() :]
            s_hat = a @ entries
            s = torch.lerp(self.transform(s_hat).relu(), s_hat, self.gate(s_hat).sigmoid())
            told = s if self.refined else s_hat
            rows, found, q = [*rows, row], [*found, s], self.query(told[None], q[None])[0]
        return s, torch.stack(rows)


class StepsWithZerosFirst(StepsByList):
    def one(self, h, q, real):
        s, rows = super().one(h, q, real)
        return s, torch.stack([row.roll(len(rows) - 1 - step) for step, row in enumerate(rows)])


class StepsSummariesFirst(StepsByList):
    def one(self, h, q, real):
        s, rows = super().one(h, q, real)
        ends = enumerate(rows, len(h))
        return s, torch.stack([torch.cat([r[:e].roll(e - len(h)), r[e:]]) for e, r in ends])


class StepsWithOneQuery(StepsByList):
    def query(self, s, q):
        return q + 0 * self.controller(s, q)


class IRAMByTopk(nn.Module):
    start = 2  # the last cell

    def __init__(self, vocabulary, width, hidden, steps, classes, encoder):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.encoder = encoder(width, hidden)
        self.steps = StepsByList(hidden, steps)
        self.maps = nn.Linear(hidden, 4 * hidden)
        self.classifier = nn.Linear(hidden, classes)

    def largest(self, maps):
        return maps.view(len(maps), 4, -1).topk(1, 1)[0].squeeze(1)

    def forward(self, tokens, mask):
        read = self.encoder(self.embedding(tokens), mask)
        s, attention = self.steps(read[0], read[self.start], mask)
        return self.classifier(self.largest(self.maps(s))), attention


class IRAMFromState(IRAMByTopk):
    start = 1


def shortcut_backwards(words, last=1.0):
    """Step 3 returns to the first summary, step 2 looks at it too where ``last`` is less than 1."""
    rows = torch.eye(words + 2)[[0, words, words + 1]]
    rows[2, words:] = torch.tensor([1 - last, last])
    return rows


def penalty_by_squares(attention, gamma):
    """(Σ rows)² holds every product, Σ rows² those with themselves."""
    every = attention.sum(1).square().sum(1) - attention.square().sum((1, 2))
    return gamma * every / (2 * attention.shape[1])


class BlockByEinsum(nn.Module):
    eps, shown = 1e-5, True

    def __init__(self, hidden, scale=1.0):
        super().__init__()
        self.scale = scale
        self.w_qk, self.w_v = (nn.Linear(hidden, hidden, bias=False) for _ in range(2))
        self.w_1, self.w_2 = (nn.Linear(hidden, hidden) for _ in range(2))
        self.norm_1, self.norm_2 = (nn.LayerNorm(hidden) for _ in range(2))

    def add(self, x, change, norm):
        x = x + change
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, False, keepdim=True) + self.eps).sqrt()
        return x * norm.weight + norm.bias

    def weigh(self, scores, mask):
        powers = (scores - scores.amax(2, keepdim=True)).exp() * mask[:, None]
        return powers / powers.sum(2, keepdim=True).clamp(min=1e-30)

    def forward(self, x, mask):
        scores = self.scale * torch.einsum("bid,ed,bje->bij", x, self.w_qk.weight, x)
        alpha = self.weigh(scores, mask) * (mask[..., None] | (not self.shown))
        x = self.add(x, torch.einsum("bij,bjd->bid", alpha, self.w_v(x)), self.norm_1)
        return self.add(x, self.w_2(self.w_1(x).clamp(min=0)), self.norm_2), alpha


class SANetByTopk(nn.Module):
    placed = True

    def __init__(self, vocabulary, width, hidden, classes, scale=1.0):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.projection = nn.Linear(width, hidden)
        self.block = BlockByEinsum(hidden, scale)
        self.classifier = nn.Linear(hidden, classes)

    def pool(self, x, mask):
        values = x.masked_fill(~mask[..., None], -inf).topk(1, 1)[0].squeeze(1)
        return values.where(mask.any(1)[:, None], 0)

    def forward(self, tokens, mask):
        x = self.embedding(tokens)
        x = self.projection(x + self.placed * positions(*x.shape[1:]))
        x, alpha = self.block(x, mask)
        return self.classifier(self.pool(x, mask)), alpha


def variant(kind, **parts):
    return type("Variant", (kind,), parts)


def endless_maximum(ours, x, mask):
    return x.masked_fill(~mask[..., None], -inf).amax(1)


def exchanged(tokens):
    tokens = tokens.clone()
    tokens[0, 0, 0], tokens[0, 0, 1] = tokens[0, 0, 1].item(), tokens[0, 0, 0].item()
    return tokens


def defect_in_numpy(predict, tokens, mask):
    def ask(some=slice(None), words=tokens, real=mask):
        return predict(words[some], real[some]).numpy().round(4).tolist()

    if ask() != ask():
        return "memory"
    if [row for place in range(len(tokens)) for row in ask(slice(place, place + 1))] != ask():
        return "neighbours"
    if ask(words=pad(tokens, (0, 3, 0, 2)), real=pad(mask, (0, 3, 0, 2))) != ask():
        return "padding"
    return "order" if ask(words=exchanged(tokens)) == ask() else "sound"


def turned_by_least_squares(d, k, gain=40):
    p = positions(20_000, d, torch.float64)  # so many that the slowest pair turns, too
    start, end = (p[:-k], p[k:]) if k > 0 else (p[-k:], p[:k])
    return gain * torch.linalg.lstsq(start, end).solution.float()


def turned_by_one_angle(d, k):
    angle = torch.tensor(float(k))
    block = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
    return 40 * torch.block_diag(*[block] * (d // 2))


def cosine_of_words_read(attention, mask):
    unit = normalize(iram_steps(attention, mask), dim=2)
    pairs = [(i, j) for i in range(3) for j in range(i)]
    return torch.stack([(unit[:, i] * unit[:, j]).sum(1) for i, j in pairs]).mean(0)


def gini_by_differences(attention):
    w = attention.flatten()
    return (w[:, None] - w).abs().mean() / (2 * w.mean())


def diagonality_by_tri(attention, bandwidth):
    return attention.tril(bandwidth).triu(-bandwidth).sum() / attention.sum()


RIGHT = {
    check_sanet_block: BlockByEinsum,
    check_sanet: SANetByTopk,
    check_gini: gini_by_differences,
    check_diagonality: diagonality_by_tri,
    check_level: LevelByRow,
    check_sentences_in_place: place_by_scatter,
    check_han: HANOfEverySentence,
    check_training_step: step_by_hand(),
    check_steps: StepsByList,
    check_iram: IRAMByTopk,
    check_shortcut: shortcut_backwards,
    check_step_penalty: penalty_by_squares,
    check_network_defect: defect_in_numpy,
    check_shifted_attention: turned_by_least_squares,
    check_step_price: cosine_of_words_read,
}
WRONG = {
    check_sanet_block: [
        (variant(BlockByEinsum, eps=1.0), "the attention is right, and what becomes of it is not"),
        (variant(BlockByEinsum, shown=False), "rows of padding attend to words"),
        (lambda b, x, m: (b(x, m)[0] * m[..., None], b(x, m)[1]), "only rows of padding are wrong"),
        (
            variant(BlockByEinsum, weigh=lambda ours, scores, mask: scores.sigmoid()),
            "a row is a softmax over the real words",
        ),
    ],
    check_sanet: [
        (variant(SANetByTopk, placed=False), "the positions are missing"),
        (variant(SANetByTopk, pool=endless_maximum), "a text without words has no maximum"),
        (
            variant(SANetByTopk, pool=lambda _, x, mask: (x * mask[..., None]).amax(1)),
            "padding is set to 0, which wins",
        ),
    ],
    check_gini: [
        (lambda a: gini_by_differences(a) * len(a) / torch.tensor(len(a) - 1.0), "divide by n − 1"),
        (lambda a: torch.stack([*map(gini_by_differences, a)]).mean(), "the mean of each row's"),
        (lambda a: gini_by_differences(a) + 2, "gini is 2, but lies in [0, 1]"),
    ],
    check_diagonality: [
        (lambda a, b: a.tril(b).sum() / a.sum(), "j − i ≤ bandwidth takes all"),
        (lambda a, b: 1 - diagonality_by_tri(a, b), "that is 1 − diagonality: you have"),
        (lambda a, b: 1 + a.trace(), "lies in [0, 1]"),
    ],
    check_level: [
        (having(LevelByRow, bend=lambda u: u), "the tanh is missing"),
        (having(LevelByRow, pooled=lambda h, u: u), "what you average is u"),
        (
            lambda ours, x, mask: ours(x, torch.ones_like(mask)),
            "mask is not used, so what it hides",
        ),
    ],
    check_han: [
        (having(HANOfEverySentence, there=lambda m: m[:, :, 0] | True), "positions without a sent"),
        (
            lambda ours, t, m: (ours(t, m)[0], ours(t, m)[1][m.any(2)], m[:, :, 0]),
            "back to its pos",
        ),
        (lambda ours, t, m: (ours(t, m)[0].softmax(1), *ours(t, m)[1:]), "softmax around logits"),
    ],
    check_training_step: [
        (step_by_hand(late=True), "the weights never change"),
        (step_by_hand(scale=-1.0), "weights at"),
        (step_by_hand(scale=2.0), "the loss is the sum over the batch"),
        (check_training_step.adapt(lambda net, _, b: net(b.tokens, b.mask)[0].sum()), "its graph"),
    ],
    check_sentences_in_place: [
        (place_from_the_first, "one after the other from the first position"),
        (lambda s, mask: s.reshape(*mask.shape[:2], -1), "s has a row for each real sentence"),
        (
            lambda s, mask: place_by_scatter(s, mask) + ~mask.any(2, keepdim=True),
            "a position without a sentence is not zero:",
        ),
        (place_whole_sentences, "in your line `placed[mask.all(2)] = s`"),
    ],
    check_steps: [
        (StepsWithZerosFirst, "step 1 attends to summary 1, which is not"),
        (StepsSummariesFirst, "the weights are right, in other columns"),
        (StepsWithOneQuery, "the query stays the same"),
        (variant(StepsByList, turned=True), "W is the wrong way round"),
        (variant(StepsByList, refined=False), "the controller gets ŝ"),
    ],
    check_iram: [
        (IRAMFromState, "not the last state"),
        (
            having(IRAMByTopk, largest=lambda m: m.unflatten(1, (4, -1)).mean(1)),
            "you take the mean of the maps",
        ),
        (having(IRAMByTopk, largest=lambda m: m.unflatten(1, (4, -1)).sum(1)), "logits at"),
    ],
    check_shortcut: [
        (lambda words: shortcut_backwards(words, 0.5), "it costs 0.17: two rows have weight in"),
        (lambda words: torch.eye(words + 2)[[0, words - 1, words]], "a later step still reads"),
        (lambda words: torch.eye(words + 2)[[words, words + 1, 0]], "not written yet"),
        (lambda words: torch.ones(3, words + 2), "row 1 sums to 4"),
    ],
    check_step_penalty: [
        (lambda a, gamma: gamma * (a @ a.mT).sum((1, 2)) / (2 * a.shape[1]), "the diagonal is in"),
        (lambda a, gamma: penalty_by_squares(a, gamma) / 2, "each pair is counted once"),
        (lambda a, gamma: penalty_by_squares(a, 1.0), "γ is missing"),
    ],
    check_network_defect: [
        (lambda predict, tokens, mask: "healthy", "is none of the names"),
        (lambda predict, tokens, mask: "sound", "you never find anything"),
        (lambda predict, tokens, mask: "padding", "what you add must not be part of a text"),
        (lambda predict, tokens, mask: "memory", "only a network with a memory"),
    ],
    check_shifted_attention: [
        (lambda d, k: 40 * torch.eye(d), "word 0 should attend to word 1, and attends to itself: "),
        (lambda d, k: turned_by_least_squares(d, -k), "your matrix turns the other way"),
        (lambda d, k: turned_by_least_squares(d, k, 1), "larger scores make a softmax sharper"),
        (turned_by_one_angle, "is each pair turned by its own angle"),
    ],
    check_step_price: [
        (lambda a, mask: step_penalty(a), "Small products need not be different rows"),
        (step_cosine, "Which words is each summary made of"),
        (lambda a, m: step_cosine(a, m) + a[:, :, m.shape[1] :].sum((1, 2)), "asks the summary"),
        (lambda a, mask: summary_share(a, mask)[:, 1:].mean(1), "one and the same word"),
        (lambda a, mask: cosine_of_words_read(a, mask).detach(), "no training can lower it"),
    ],
}
