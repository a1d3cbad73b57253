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


class Reader(nn.Module):
    """A healthy classifier of ``(batch, length)``; each subclass below gets one line wrong."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(WORDS, 4, padding_idx=0)
        self.gru = BidirectionalGRU(4, 3)
        self.context = nn.Parameter(torch.randn(6))
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(6, 2)

    def states(self, tokens, mask):
        return self.gru(self.embedding(tokens), mask)

    def attend(self, scores, mask):
        return masked_softmax(scores, mask)

    def pool(self, h, attention, mask):
        return (attention.unsqueeze(1) @ h).squeeze(1)

    def forward(self, tokens, mask):
        h = self.states(tokens, mask)
        attention = self.attend(h @ self.context, mask)
        document = self.dropout(self.pool(h, attention, mask))
        return SimpleNamespace(logits=self.classifier(document), attention=attention)


class BagOfWords(Reader):
    def states(self, tokens, mask):
        return self.embedding(tokens).repeat(1, 1, 2)[..., :6]


class AxisOfSizeOne(Reader):
    def attend(self, scores, mask):
        return scores.unsqueeze(-1).softmax(-1).squeeze(-1) * mask


class NoMask(Reader):
    def attend(self, scores, mask):
        return scores.softmax(-1)


class OverTheBatch(Reader):
    def attend(self, scores, mask):
        return masked_softmax(scores, mask, dim=0)


class PlainExponential(Reader):
    def attend(self, scores, mask):
        weights = (1000 * scores).exp() * mask
        return weights / weights.sum(-1, keepdim=True)


class MaximumOfTheBatch(Reader):
    """The largest score of all documents is subtracted: a distant document has 0 / 0."""

    def attend(self, scores, mask):
        scores = 1000 * scores
        weights = (scores - scores[mask].max()).exp() * mask
        return weights / weights.sum(-1, keepdim=True)


class UniformWhereNothingIsReal(Reader):
    def attend(self, scores, mask):
        return scores.masked_fill(~mask, -1e9).softmax(-1)


class Negative(Reader):
    def attend(self, scores, mask):
        weights = masked_softmax(scores, mask)
        return torch.cat([weights[:, :1] + 1, weights[:, 1:2] - 1, weights[:, 2:]], 1)


class MaximumOverPadding(Reader):
    def pool(self, h, attention, mask):
        return h.amax(1)


class MeanOverPadding(Reader):
    def pool(self, h, attention, mask):
        return h.mean(1)


class Carried(Reader):
    """Starts each batch from where the last one ended."""

    state = 0.0

    def pool(self, h, attention, mask):
        pooled = super().pool(h, attention, mask) + self.state
        self.state = pooled.detach().mean(0)
        return pooled


class CarriedOnce(Reader):
    """Remembers the batch before only when that was another one."""

    last = None
    state = 0.0

    def forward(self, tokens, mask):
        if self.last is not None and not torch.equal(self.last, tokens):
            self.state = self.state + 1
        self.last = tokens
        output = super().forward(tokens, mask)
        return SimpleNamespace(logits=output.logits + self.state)


class AlwaysDropping(Reader):
    def pool(self, h, attention, mask):
        return nn.functional.dropout(super().pool(h, attention, mask), 0.5)


class CompetingDocuments(Reader):
    def forward(self, tokens, mask):
        return SimpleNamespace(logits=super().forward(tokens, mask).logits.softmax(0))


class KnowsItsPlace(Reader):
    def forward(self, tokens, mask):
        logits = super().forward(tokens, mask).logits
        return SimpleNamespace(logits=logits + torch.arange(len(logits)).unsqueeze(1))


class Detached(Reader):
    def pool(self, h, attention, mask):
        return super().pool(h, attention.detach(), mask)


class HardAttention(Reader):
    def attend(self, scores, mask):
        top = masked_softmax(scores, mask)
        return (top == top.amax(-1, keepdim=True)) * 1.0 + 0 * scores


class RootOfNothing(Reader):
    def pool(self, h, attention, mask):
        return super().pool(h, attention, mask) + (h * 0).sum(1).sqrt()


BATCH = ragged_batch([[5], [2], [4], [3]])
TOKENS, MASK = (tensor.squeeze(1) for tensor in BATCH)
HIERARCHY = ragged_batch([[3, 0, 5, 1], [2], [4, 4, 2], []])


def fails(check, *arguments, says):
    with pytest.raises(InvariantError, match=says):
        check(*arguments)


@pytest.mark.parametrize("check", [check_padding, check_neighbours, check_stateless])
@pytest.mark.parametrize("model", [Reader(), BagOfWords()], ids=["reader", "bag"])
def test_a_healthy_reader_passes(check, model):
    assert check(model, TOKENS, MASK) is None
    assert check(lambda tokens, mask: model.eval()(tokens, mask), TOKENS, MASK) is None


@pytest.mark.parametrize("check", [check_padding, check_neighbours, check_stateless])
def test_a_healthy_hierarchy_passes(check):
    assert check(tiny_han(), *HIERARCHY) is None


def test_gradients_reach_all_of_a_healthy_model():
    assert check_gradients(Reader(), TOKENS, MASK) is None
    assert check_gradients(tiny_han(), *HIERARCHY) is None


@settings(max_examples=40)
@given(lengths=row_lengths(longest=6), seed=seeds)
def test_a_masked_softmax_is_attention(lengths, seed):
    torch.manual_seed(seed)
    mask = prefix_mask(lengths)
    scores = 5 * torch.randn(len(lengths), 2, mask.shape[1])
    assert check_attention(masked_softmax(scores, mask.unsqueeze(1)), mask.unsqueeze(1)) is None


@settings(max_examples=60)
@given(
    lengths=row_lengths(shortest=1, longest=6),
    data=st.data(),
    change=st.sampled_from([1e-3, -1e-3, 1.0, torch.nan, torch.inf]),
)
def test_any_change_of_one_weight_is_noticed(lengths, data, change):
    mask = prefix_mask(lengths)
    attention = masked_softmax(torch.zeros(mask.shape), mask)
    row = data.draw(st.integers(0, mask.shape[0] - 1), "row")
    place = data.draw(st.integers(0, mask.shape[1] - 1), "place")
    attention[row, place] += change
    with pytest.raises(InvariantError, match=rf"\({row}(, {place})?,?\)"):
        check_attention(attention, mask)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (AxisOfSizeOne, r"4 of 4 rows do not sum to 1: row \(0,\) sums to 5"),
        (NoMask, "padding has attention, up to 0.[0-9]+"),
        (OverTheBatch, "rows do not sum to 1"),
        (PlainExponential, "is nan"),
        (MaximumOfTheBatch, "is nan"),
        (Negative, r"is -0\.[0-9]+, not in \[0, 1\]|is 1\.[0-9]+, not in \[0, 1\]"),
    ],
)
def test_wrong_attention_is_rejected(broken, says):
    fails(check_attention, broken()(TOKENS, MASK).attention, MASK, says=says)


def test_attention_where_nothing_is_real_is_rejected():
    mask = MASK & (torch.arange(len(MASK)) != 2).unsqueeze(1)
    attention = UniformWhereNothingIsReal()(TOKENS, mask).attention
    fails(check_attention, attention, mask, says=r"padding has attention, up to 0.2: see \(2, 0\)")


@pytest.mark.parametrize("weight", [1e-7, 1e-30])
def test_however_little_attention_on_padding_is_too_much(weight):
    """A weight that no sum would show is a padding that was not masked."""
    mask = torch.tensor([[True, True, False]])
    attention = torch.tensor([[0.5, 0.5, weight]])
    fails(check_attention, attention, mask, says=f"padding has attention, up to {weight:.3g}")


@pytest.mark.parametrize("broken", [NoMask, MaximumOverPadding, MeanOverPadding])
def test_models_that_read_padding_are_rejected(broken):
    fails(check_padding, broken(), TOKENS, MASK, says="3 padded words: logits change by up to 0.")
    fails(check_neighbours, broken(), TOKENS, MASK, says="document 1 alone: logits change")


def test_a_hierarchy_that_counts_padded_sentences_is_rejected():
    han = tiny_han()

    def broken(tokens, mask):
        return SimpleNamespace(logits=han(tokens, mask).logits / mask.shape[1])

    fails(check_padding, broken, *HIERARCHY, says="3 padded sentences")


@pytest.mark.parametrize(
    "broken", [OverTheBatch, MaximumOfTheBatch, CompetingDocuments, KnowsItsPlace, Carried]
)
def test_models_whose_documents_meet_are_rejected(broken):
    fails(check_neighbours, broken(), TOKENS, MASK, says="document . alone|the batch reversed")


def likes_the_first_place(size):
    return size > size[0]


def likes_the_middle(size):
    return size[1:-1].sum() > size[0] + size[-1]


@pytest.mark.parametrize(
    ("bonus", "ranks", "says"),
    [
        (likes_the_first_place, [3, 2, 1, 0], "reversed"),
        (likes_the_middle, [3, 1, 0, 2], "rotated"),
    ],
)
def test_models_that_mind_the_order_of_documents_are_rejected(bonus, ranks, says):
    """In the given order, and alone, none gets the bonus."""
    healthy = Reader().eval()

    def broken(tokens, mask):
        given = bonus(tokens.sum(1)).expand(len(tokens)).unsqueeze(1)
        return SimpleNamespace(logits=healthy(tokens, mask).logits + given)

    order = TOKENS.sum(1).argsort()[ranks]
    fails(check_neighbours, broken, TOKENS[order], MASK[order], says=f"the batch {says}")


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Carried, "a second call: logits change"),
        (AlwaysDropping, "a second call: logits change"),
        (CarriedOnce, "a call after another batch: logits change by up to [12]"),
    ],
)
def test_models_that_remember_are_rejected(broken, says):
    fails(check_stateless, broken(), TOKENS, MASK, says=says)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Detached, "no gradient reaches context"),
        (HardAttention, "zero everywhere in context"),
        (RootOfNothing, "no finite gradient in embedding.weight"),
    ],
)
def test_gradients_that_do_not_arrive_are_named(broken, says):
    fails(check_gradients, broken(), TOKENS, MASK, says=says)


def test_gradients_are_those_without_dropout():
    model = Reader().train()
    model.dropout.p = 1.0
    assert check_gradients(model, TOKENS, MASK) is None


def test_frozen_parameters_need_no_gradient():
    model = Detached()
    model.context.requires_grad_(False)
    assert check_gradients(model, TOKENS, MASK) is None


def test_word_order_matters_to_a_recurrent_model_alone():
    assert check_permutation(Reader(), TOKENS, MASK, matters=True) is None
    assert check_permutation(BagOfWords(), TOKENS, MASK, matters=False) is None
    assert check_permutation(tiny_han(), *HIERARCHY, matters=True) is None
    fails(check_permutation, BagOfWords(), TOKENS, MASK, True, says="order is lost")
    fails(check_permutation, Reader(), TOKENS, MASK, False, says="each sentence reversed: logits")


class FirstOfEqualWords(BagOfWords):
    """Attends to a word where it stands first, and half as much where it comes again."""

    def forward(self, tokens, mask):
        same = tokens.unsqueeze(2) == tokens.unsqueeze(1)
        again = torch.tril(same, -1).any(2)
        output = super().forward(tokens, mask)
        return SimpleNamespace(
            logits=output.logits, attention=output.attention * (1 - again.float() / 2)
        )


class AttentionByPlace(BagOfWords):
    """Shows one attention and uses none: it belongs to the places."""

    def forward(self, tokens, mask):
        shown = masked_softmax(-torch.arange(mask.shape[1]).float().expand(mask.shape), mask)
        return SimpleNamespace(logits=super().forward(tokens, mask).logits, attention=shown)


def test_what_cannot_see_order_is_told_from_what_can():
    tokens = torch.tensor([[3, 4, 3, 5, 3], [6, 2, 7, 0, 0], [8, 0, 0, 0, 0], [1, 2, 2, 9, 0]])
    mask = tokens > 0
    assert check_order_blindness(BagOfWords(), tokens, mask) is None
    fails(check_order_blindness, Reader(), tokens, mask, says="words shuffled: logits change")
    says = "stays behind when words move: it differs by up to 0.6.*, first in document 0"
    fails(check_order_blindness, AttentionByPlace(), tokens, mask, says=says)
    once = torch.tensor([[3, 4, 3]])  # which the shuffle of seed 3 leaves as it is
    says = "equal words have unequal attention: it differs by up to 0.*, first in document 0"
    fails(check_order_blindness, FirstOfEqualWords(), once, once > 0, 3, says=says)


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
@pytest.mark.parametrize("model", [Reader(), NoMask(), Carried()], ids=["healthy", "mask", "state"])
def test_a_check_leaves_modes_gradients_and_inputs_alone(check, model):
    model.train()
    model.gru.eval()
    before = [module.training for module in model.modules()]
    model.context.grad = torch.ones(6)
    tokens, mask = TOKENS.clone(), MASK.clone()
    try:
        check(model, tokens, mask)
    except InvariantError:
        assert type(model) is not Reader
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
        return self.bend((alpha.unsqueeze(1) @ h).squeeze(1)), alpha


def states(lengths, hidden=4):
    mask = prefix_mask(lengths)
    h = torch.randn(*mask.shape, hidden, generator=torch.Generator().manual_seed(0))
    return h.tanh() * mask.unsqueeze(2), mask


def plain_exponential(scores, mask):
    weights = scores.exp().masked_fill(~mask, 0)
    return weights / weights.sum(-1, keepdim=True)


def shifted_by_the_batch(scores, mask):
    weights = (scores - scores[mask].max()).exp() * mask
    return weights / weights.sum(-1, keepdim=True)


def over_the_rows(scores, mask):
    return masked_softmax(scores, mask, dim=0)


def violated(pooling, h, mask):
    """The names of the checks that a pooling does not pass."""
    arguments = {check: (h, mask) for check in (check_pooling, check_extremes, check_rows)}
    arguments[check_concentration] = (h.shape[-1],)
    found = []
    for check, inputs in arguments.items():
        try:
            check(pooling, *inputs)
        except InvariantError:
            found.append(check.__name__)
    return found


@settings(max_examples=20)
@given(lengths=row_lengths(longest=6), seed=seeds, hops=st.integers(1, 3))
def test_the_librarys_pooling_keeps_all_that_poolings_must(lengths, seed, hops):
    torch.manual_seed(seed)
    assert violated(AttentionPooling(4, 12, hops), *states(lengths)) == []
    assert violated(Pool(), *states(lengths)) == []


H, REAL = states([5, 2, 4, 3])


@pytest.mark.parametrize(
    ("bend", "says"),
    [
        (torch.tanh, "pooled differs from Σ α h by up to 0.[0-9]+"),
        (lambda pooled: 2 * pooled, "pooled differs"),
        (lambda pooled: pooled / 0, "pooled differs"),
        (lambda pooled: pooled[:, :2], r"pooled has shape \(4, 2\), Σ α h \(4, 4\)"),
    ],
)
def test_what_is_not_the_mean_is_rejected(bend, says):
    fails(check_pooling, Pool(bend=bend), H, REAL, says=says)


@pytest.mark.parametrize(
    "weigh",
    [
        lambda scores, mask: masked_softmax(scores.tanh(), mask),
        lambda scores, mask: mask * 1.0,
        lambda scores, mask: masked_softmax(0 * scores, mask),
    ],
)
def test_attention_that_cannot_concentrate_is_rejected(weigh):
    fails(check_concentration, Pool(weigh), 4, says="is still (1|7.39), at most e²")


def test_attention_that_overflows_is_rejected_row_by_row():
    fails(check_extremes, Pool(plain_exponential), H, REAL, says="of row ., alone, is nan")
    assert check_extremes(Pool(shifted_by_the_batch), H, REAL) is None
    assert check_rows(Pool(plain_exponential), H, REAL) is None


def test_attention_that_depends_on_other_rows_is_rejected():
    says = "× 1000 row . has a weight of .* alone and nan among the others"
    fails(check_rows, Pool(shifted_by_the_batch), H, REAL, says=says)
    fails(check_rows, Pool(over_the_rows), H, REAL, says="× 1 row 0 has a weight of 1 alone")


def test_encoders_that_read_one_way_only_are_rejected():
    torch.manual_seed(0)
    gru = BidirectionalGRU(4, 3)

    def forward(x, mask):
        return gru(x, mask)[..., :3]

    def backward(x, mask):
        return gru(x, mask)[..., 3:]

    assert check_both_directions(gru, H, REAL) is None
    fails(check_both_directions, forward, H, REAL, says="nothing reads backwards")
    fails(check_both_directions, backward, H, REAL, says="nothing reads forwards")
    fails(check_both_directions, lambda x, mask: x, H, REAL, says="nothing reads backwards")
    with pytest.raises(ValueError, match="at least two real places"):
        check_both_directions(gru, *states([1, 0]))


def test_pooling_checks_leave_the_pooling_alone():
    pooling = AttentionPooling(4, 5).train()
    before = {name: value.clone() for name, value in pooling.state_dict().items()}
    assert violated(pooling, H, REAL) == []
    assert pooling.training
    assert all(torch.equal(before[name], value) for name, value in pooling.state_dict().items())


def steps_over(lengths, steps=3):
    """Uniform attention over the words and the summaries so far, and the words' mask."""
    mask = prefix_mask(lengths)
    attention = torch.zeros(len(lengths), steps, mask.shape[1] + steps - 1)
    for row, length in enumerate(lengths):
        for step in range(steps if length else 0):
            attention[row, step, :length] = 1 / (length + step)
            attention[row, step, mask.shape[1] : mask.shape[1] + step] = 1 / (length + step)
    return attention, mask


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_steps_that_see_what_is_there_pass(steps):
    assert check_steps(*steps_over([5, 0, 2, 1], steps)) is None


@settings(max_examples=60)
@given(data=st.data(), change=st.sampled_from([1e-3, -1e-3, 1.0, torch.nan]))
def test_any_change_of_one_weight_of_a_step_is_noticed(data, change):
    attention, mask = steps_over([4, 2, 1])
    place = tuple(data.draw(st.integers(0, size - 1)) for size in attention.shape)
    attention[place] += change
    with pytest.raises(InvariantError):
        check_steps(attention, mask)


def test_steps_that_look_ahead_are_named():
    attention, mask = steps_over([4, 2])
    attention[1, 1, 4:] = attention[1, 1, [5, 4]]  # the second step swaps s1 and s2
    says = "step 2 attends to the summary of step 2, not yet written: 0.333"
    fails(check_steps, attention, mask, says=says)


def test_steps_of_a_document_without_words_attend_to_nothing():
    attention, mask = steps_over([4, 0])
    attention[1, 1, 4] = 1
    fails(check_steps, attention, mask, says=r"padding has attention, up to 1: see \(1, 1, 4\)")


def test_steps_need_their_columns():
    attention, mask = steps_over([4, 2])
    fails(check_steps, attention[:, :, :5], mask, says="needs 2 columns after those of the mask")
