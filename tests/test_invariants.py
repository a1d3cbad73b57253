"""Each invariant passes a healthy model and rejects models that are wrong in ways people were."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, prefix_mask, ragged_batch, row_lengths, seeds, tiny_han
from torch import nn

from course_kit.exercises.probes import (
    check_both_directions,
    check_concentration,
    check_extremes,
    check_rows,
)
from course_lib.metrics.invariants import (
    InvariantError,
    check_attention,
    check_gradients,
    check_neighbours,
    check_order_blindness,
    check_padding,
    check_permutation,
    check_pooling,
    check_stateless,
    check_steps,
)
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import AttentionPooling, masked_softmax


def weighted_mean(h, attention, mask):
    return (attention.unsqueeze(1) @ h).squeeze(1)


class Reader(nn.Module):
    """A healthy classifier of ``(batch, length)`` whose parts can be exchanged for broken ones."""

    def __init__(self, attend=masked_softmax, pool=weighted_mean, finish=None, ordered=True):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(WORDS, 4, padding_idx=0)
        self.gru = BidirectionalGRU(4, 3)
        self.context = nn.Parameter(torch.randn(6))
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(6, 2)
        self.attend, self.pool, self.ordered = attend, pool, ordered
        self.finish = finish or (lambda logits, tokens: logits)

    def forward(self, tokens, mask):
        x = self.embedding(tokens)
        h = self.gru(x, mask) if self.ordered else x.repeat(1, 1, 2)[..., :6]
        attention = self.attend(h @ self.context, mask)
        logits = self.classifier(self.dropout(self.pool(h, attention, mask)))
        return SimpleNamespace(logits=self.finish(logits, tokens), attention=attention)


def bag_of_words():
    return Reader(ordered=False)


def maximum_of_the_batch(scores, mask):
    """The largest score of all documents is subtracted: a distant document has 0 / 0."""
    weights = (1000 * (scores - scores[mask].max())).exp() * mask
    return weights / weights.sum(-1, keepdim=True)


def negative(scores, mask):
    weights = masked_softmax(scores, mask)
    return torch.cat([weights[:, :1] + 1, weights[:, 1:2] - 1, weights[:, 2:]], 1)


def hard(scores, mask):
    top = masked_softmax(scores, mask)
    return (top == top.amax(-1, keepdim=True)) * 1.0 + 0 * scores


ATTEND = {
    "axis of size one": lambda s, mask: s.unsqueeze(-1).softmax(-1).squeeze(-1) * mask,
    "no mask": lambda scores, mask: scores.softmax(-1),
    "over the batch": lambda scores, mask: masked_softmax(scores, mask, dim=0),
    "maximum of the batch": maximum_of_the_batch,
    "negative": negative,
    "hard": hard,
}
POOL = {
    "maximum over padding": lambda h, attention, mask: h.amax(1),
    "mean over padding": lambda h, attention, mask: h.mean(1),
    "always dropping": lambda *parts: nn.functional.dropout(weighted_mean(*parts), 0.5),
    "detached": lambda h, attention, mask: weighted_mean(h, attention.detach(), mask),
    "root of nothing": lambda h, *rest: weighted_mean(h, *rest) + (h * 0).sum(1).sqrt(),
}
FINISH = {
    "competing documents": lambda logits, tokens: logits.softmax(0),
    "knows its place": lambda logits, tokens: logits + torch.arange(len(logits)).unsqueeze(1),
}


def carrying(others):
    """Adds the number of its batches so far to all logits, or the number of ``others``."""
    seen = []

    def finish(logits, tokens):
        if not (others and seen and torch.equal(seen[-1], tokens)):
            seen.append(tokens)
        return logits + len(seen)

    return Reader(finish=finish)


def broken(name):
    if name.startswith("carried"):
        return carrying(others=name == "carried once")
    for part, all_of_it in (("attend", ATTEND), ("pool", POOL), ("finish", FINISH)):
        if name in all_of_it:
            return Reader(**{part: all_of_it[name]})
    raise KeyError(name)


TOKENS, MASK = (tensor.squeeze(1) for tensor in ragged_batch([[5], [2], [4], [3]]))
HIERARCHY = ragged_batch([[3, 0, 5, 1], [2], [4, 4, 2], []])


def fails(check, *arguments, says):
    with pytest.raises(InvariantError, match=says):
        check(*arguments)


CHANGES = st.sampled_from([1e-3, -1e-3, 1.0, torch.nan, torch.inf])


@settings(max_examples=60)
@given(lengths=row_lengths(shortest=1, longest=6), data=st.data(), change=CHANGES)
def test_any_change_of_one_weight_is_noticed(lengths, data, change):
    mask = prefix_mask(lengths)
    attention = masked_softmax(torch.zeros(mask.shape), mask)
    row = data.draw(st.integers(0, mask.shape[0] - 1), "row")
    place = data.draw(st.integers(0, mask.shape[1] - 1), "place")
    attention[row, place] += change
    with pytest.raises(InvariantError, match=rf"\({row}(, {place})?,?\)"):
        check_attention(attention, mask)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("axis of size one", r"4 of 4 rows do not sum to 1: row \(0,\) sums to 5"),
        ("no mask", "padding has attention, up to 0.[0-9]+"),
        ("over the batch", "rows do not sum to 1"),
        ("maximum of the batch", "is nan"),
        ("negative", r"is -0\.[0-9]+, not in \[0, 1\]|is 1\.[0-9]+, not in \[0, 1\]"),
    ],
)
def test_wrong_attention_is_rejected(name, says):
    fails(check_attention, broken(name)(TOKENS, MASK).attention, MASK, says=says)


def test_however_little_attention_on_padding_is_too_much():
    """A weight that no sum would show is a padding that was not masked."""
    mask = torch.tensor([[True, True, False]])
    for weight in (1e-7, 1e-30):
        says = f"padding has attention, up to {weight:.3g}"
        fails(check_attention, torch.tensor([[0.5, 0.5, weight]]), mask, says=says)
    mask = MASK & (torch.arange(len(MASK)) != 2).unsqueeze(1)
    uniform = torch.zeros(MASK.shape).masked_fill(~mask, -1e9).softmax(-1)
    says = r"padding has attention, up to 0.2: see \(2, 0\)"
    fails(check_attention, uniform, mask, says=says)


@pytest.mark.parametrize(
    ("check", "name", "says"),
    [
        *(
            (check, name, says)
            for name in ("no mask", "maximum over padding", "mean over padding")
            for check, says in (
                (check_padding, "3 padded words: logits change by up to 0."),
                (check_neighbours, "document 1 alone: logits change"),
            )
        ),
        *(
            (check_neighbours, name, "document . alone|the batch reversed")
            for name in ("over the batch", "maximum of the batch", *FINISH, "carried")
        ),
        (check_stateless, "carried", "a second call: logits change"),
        (check_stateless, "always dropping", "a second call: logits change"),
        (check_stateless, "carried once", "a call after another batch: logits change by up to"),
        (check_gradients, "detached", "no gradient reaches context"),
        (check_gradients, "hard", "zero everywhere in context"),
        (check_gradients, "root of nothing", "no finite gradient in embedding.weight"),
    ],
)
def test_broken_models_are_rejected_with_the_reason(check, name, says):
    fails(check, broken(name), TOKENS, MASK, says=says)


def test_a_hierarchy_that_counts_padded_sentences_is_rejected():
    han = tiny_han()

    def sick(tokens, mask):
        return SimpleNamespace(logits=han(tokens, mask).logits / mask.shape[1])

    fails(check_padding, sick, *HIERARCHY, says="3 padded sentences")


@pytest.mark.parametrize(
    ("bonus", "ranks", "says"),
    [
        (lambda size: size > size[0], [3, 2, 1, 0], "reversed"),  # likes the first place
        (lambda size: size[1:-1].sum() > size[0] + size[-1], [3, 1, 0, 2], "rotated"),  # the middle
    ],
)
def test_models_that_mind_the_order_of_documents_are_rejected(bonus, ranks, says):
    """In the given order, and alone, none gets the bonus."""
    sick = Reader(finish=lambda logits, tokens: logits + bonus(tokens.sum(1)).view(-1, 1).float())
    order = TOKENS.sum(1).argsort()[ranks]
    fails(check_neighbours, sick, TOKENS[order], MASK[order], says=f"the batch {says}")


def test_gradients_are_those_of_what_learns_without_dropout():
    check_gradients(tiny_han(), *HIERARCHY)
    model = Reader().train()
    model.dropout.p = 1.0
    check_gradients(model, TOKENS, MASK)
    frozen = broken("detached")
    frozen.context.requires_grad_(False)
    check_gradients(frozen, TOKENS, MASK)


def test_word_order_matters_to_a_recurrent_model_alone():
    check_permutation(Reader(), TOKENS, MASK, matters=True)
    check_permutation(bag_of_words(), TOKENS, MASK, matters=False)
    check_permutation(tiny_han(), *HIERARCHY, matters=True)
    fails(check_permutation, bag_of_words(), TOKENS, MASK, True, says="order is lost")
    fails(check_permutation, Reader(), TOKENS, MASK, False, says="each sentence reversed: logits")


def test_what_cannot_see_order_is_told_from_what_can():
    tokens = torch.tensor([[3, 4, 3, 5, 3], [6, 2, 7, 0, 0], [8, 0, 0, 0, 0], [1, 2, 2, 9, 0]])
    mask, bag = tokens > 0, bag_of_words()

    def attends(weights):
        """A bag of words that shows another attention than it uses."""
        return lambda tokens, mask: SimpleNamespace(
            logits=bag.eval()(tokens, mask).logits, attention=weights(tokens, mask)
        )

    def by_place(tokens, mask):
        return masked_softmax(-torch.arange(mask.shape[1]).float().expand(mask.shape), mask)

    def half_where_it_comes_again(tokens, mask):
        again = torch.tril(tokens.unsqueeze(2) == tokens.unsqueeze(1), -1).any(2)
        return bag(tokens, mask).attention * (1 - again.float() / 2)

    check_order_blindness(bag, tokens, mask)
    fails(check_order_blindness, Reader(), tokens, mask, says="words shuffled: logits change")
    says = "stays behind when words move: it differs by up to 0.6.*, first in document 0"
    fails(check_order_blindness, attends(by_place), tokens, mask, says=says)
    once = torch.tensor([[3, 4, 3]])  # which the shuffle of seed 3 leaves as it is
    says = "equal words have unequal attention: it differs by up to 0.*, first in document 0"
    model = attends(half_where_it_comes_again)
    fails(check_order_blindness, model, once, once > 0, 3, says=says)


@pytest.mark.parametrize(
    "check",
    [
        check_padding,
        check_neighbours,
        check_stateless,
        check_gradients,
        lambda *arguments: check_permutation(*arguments, matters=True),
    ],
)
def test_a_check_leaves_modes_gradients_and_inputs_alone(check):
    for model, healthy in (
        (Reader(), True),
        (broken("no mask"), False),
        (broken("carried"), False),
    ):
        model.train()
        model.gru.eval()
        before = [module.training for module in model.modules()]
        model.context.grad = torch.ones(6)
        tokens, mask = TOKENS.clone(), MASK.clone()
        try:
            check(model, tokens, mask)
        except InvariantError:
            assert not healthy
        assert [module.training for module in model.modules()] == before
        assert model.context.grad.eq(1).all() and model.classifier.weight.grad is None
        assert torch.equal(tokens, TOKENS) and torch.equal(mask, MASK)


class Pool(nn.Module):
    """A pooling of one's own: attention without hops, a lambda for the softmax."""

    def __init__(self, weigh=masked_softmax, bend=lambda h: h):
        super().__init__()
        self.context = nn.Parameter(torch.linspace(-1, 1, 4))
        self.weigh, self.bend = weigh, bend

    def forward(self, h, mask):
        alpha = self.weigh(h @ self.context, mask)
        return self.bend(weighted_mean(h, alpha, mask)), alpha


def states(lengths, hidden=4):
    mask = prefix_mask(lengths)
    h = torch.randn(*mask.shape, hidden, generator=torch.Generator().manual_seed(0))
    return h.tanh() * mask.unsqueeze(2), mask


H, REAL = states([5, 2, 4, 3])


@settings(max_examples=20)
@given(lengths=row_lengths(longest=6), seed=seeds, hops=st.integers(1, 3))
def test_the_librarys_pooling_keeps_all_that_poolings_must(lengths, seed, hops):
    torch.manual_seed(seed)
    for pooling in (AttentionPooling(4, 12, hops).train(), Pool()):
        before = {name: value.clone() for name, value in pooling.state_dict().items()}
        for check in (check_pooling, check_extremes, check_rows):
            check(pooling, *states(lengths))
        check_concentration(pooling, 4)
        assert pooling.training
        assert all(torch.equal(before[name], v) for name, v in pooling.state_dict().items())


def exponential(scores, mask):
    weights = scores.exp().masked_fill(~mask, 0)
    return weights / weights.sum(-1, keepdim=True)


def shifted_by_the_batch(scores, mask):
    weights = (scores - scores[mask].max()).exp() * mask
    return weights / weights.sum(-1, keepdim=True)


STUCK = "is still (1|7.39), at most e²"
MINGLED = "× 1000 row . has a weight of .* alone and nan among the others"


@pytest.mark.parametrize(
    ("check", "pooling", "says"),
    [
        (check_pooling, Pool(bend=torch.tanh), "pooled differs from Σ α h by up to 0.[0-9]+"),
        (check_pooling, Pool(bend=lambda pooled: pooled / 0), "pooled differs"),
        (check_pooling, Pool(bend=lambda p: p[:, :2]), r"shape \(4, 2\), Σ α h \(4, 4\)"),
        (check_concentration, Pool(lambda s, mask: masked_softmax(s.tanh(), mask)), STUCK),
        (check_concentration, Pool(lambda s, mask: masked_softmax(0 * s, mask)), STUCK),
        (check_extremes, Pool(exponential), "of row ., alone, is nan"),
        (check_rows, Pool(shifted_by_the_batch), MINGLED),
        (check_rows, Pool(ATTEND["over the batch"]), "× 1 row 0 has a weight of 1 alone"),
    ],
)
def test_broken_poolings_are_rejected_with_the_reason(check, pooling, says):
    fails(check, pooling, *((4,) if check is check_concentration else (H, REAL)), says=says)


def test_encoders_that_read_one_way_only_are_rejected():
    torch.manual_seed(0)
    gru = BidirectionalGRU(4, 3)
    check_both_directions(gru, H, REAL)
    for encoder, missing in (
        (lambda x, mask: gru(x, mask)[..., :3], "backwards"),
        (lambda x, mask: gru(x, mask)[..., 3:], "forwards"),
        (lambda x, mask: x, "backwards"),
    ):
        fails(check_both_directions, encoder, H, REAL, says=f"nothing reads {missing}")
    with pytest.raises(ValueError, match="at least two real places"):
        check_both_directions(gru, *states([1, 0]))


def steps_over(lengths, steps=3):
    """Uniform attention over the words and the summaries so far, and the words' mask."""
    mask = prefix_mask(lengths)
    attention = torch.zeros(len(lengths), steps, mask.shape[1] + steps - 1)
    for row, length in enumerate(lengths):
        for step in range(steps if length else 0):
            attention[row, step, :length] = 1 / (length + step)
            attention[row, step, mask.shape[1] : mask.shape[1] + step] = 1 / (length + step)
    return attention, mask


@settings(max_examples=60)
@given(steps=st.integers(1, 4), data=st.data(), change=CHANGES)
def test_steps_see_what_is_there_and_any_change_of_one_weight_is_noticed(steps, data, change):
    attention, mask = steps_over([4, 2, 0, 1], steps)
    check_steps(attention, mask)
    attention[tuple(data.draw(st.integers(0, size - 1)) for size in attention.shape)] += change
    with pytest.raises(InvariantError):
        check_steps(attention, mask)


@pytest.mark.parametrize("check", [check_attention, check_steps])
def test_a_row_misses_one_by_rounding_alone(check):
    rows = lambda off: torch.tensor([[[0.5, 0.5 + off]]])  # noqa: E731
    mask = torch.ones(1, 2, dtype=torch.bool)
    check(rows(5e-6), mask)
    fails(check, rows(1.5e-5), mask, says="do not sum to 1")


def test_steps_that_look_ahead_or_at_nothing_are_named():
    attention, mask = steps_over([4, 2])
    fails(check_steps, attention[:, :, :5], mask, says="needs 2 columns after those of the mask")
    attention[1, 1, 4:] = attention[1, 1, [5, 4]]  # the second step swaps s1 and s2
    says = "step 2 attends to the summary of step 2, not yet written: 0.333"
    fails(check_steps, attention, mask, says=says)
    attention, mask = steps_over([4, 0])
    attention[1, 1, 4] = 1
    fails(check_steps, attention, mask, says=r"padding has attention, up to 1: see \(1, 1, 4\)")
