"""The small parts that every model here is built from. Masks are boolean, True = real.

Example: ``pooled, alpha = AttentionPooling(hidden=100, attention=50)(h, mask)``.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_lib.models import fast


def masked_softmax(scores: Tensor, mask: Tensor, dim: int = -1) -> Tensor:
    """Softmax over the real entries only: exactly 0 elsewhere, and all zeros where nothing is real.

    ``scores`` and ``mask`` have the same (or broadcastable) shape. Half-precision scores give
    float32 weights, so that a row of many small weights still sums to 1.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    least = torch.finfo(scores.dtype).min  # not −∞, which would give NaN where nothing is real
    return scores.masked_fill(~mask, least).softmax(dim) * mask


def real_weights(attention: Tensor, mask: Tensor) -> Tensor:
    """``attention`` with 0 where ``mask`` is False, in float32 at least.

    ``ValueError`` unless both have the same shape.
    """
    if attention.shape != mask.shape:
        raise ValueError(
            f"attention of shape {tuple(attention.shape)} does not fit this batch, "
            f"which needs {tuple(mask.shape)}"
        )
    wide = torch.promote_types(attention.dtype, torch.float32)
    return attention.to(wide).masked_fill(~mask, 0)


def visible(mask: Tensor, steps: int) -> Tensor:
    """What each step can attend to, the words and the summaries of earlier steps: ``mask``
    ``(n, length)`` → ``(n, steps, length + steps − 1)``, True = visible."""
    before = torch.ones(steps, max(0, steps - 1), dtype=torch.bool, device=mask.device).tril(-1)
    summaries = before & mask.any(1)[:, None, None]  # (n, steps, steps − 1)
    return torch.cat([mask.unsqueeze(1).expand(-1, steps, -1), summaries], 2)


def renormalised(attention: Tensor, mask: Tensor) -> Tensor:
    """Weights scaled so that each row's real entries sum to 1; a row without any stays zero.

    Both have the same shape, with rows along the last axis, else ``ValueError``. Negative weights
    are not checked: they are scaled like the others.
    """
    weights = real_weights(attention, mask)
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


def word_embedding(
    words: int, width: int, values: Tensor | None = None, sparse: bool = False
) -> nn.Embedding:
    """Word vectors with id 0 for padding: random ones of ``width`` numbers, or ``values``.

    ``values`` ``(words, any width)`` are copied. ``sparse`` computes gradients only for rows in
    the batch. ``ValueError`` for values with another number of rows.
    """
    if values is not None and (values.dim() != 2 or len(values) != words):
        raise ValueError(
            f"embedding has the shape {tuple(values.shape)}; {words} words need ({words}, width)"
        )
    width = width if values is None else values.shape[1]
    table = nn.Embedding(words, width, padding_idx=0, sparse=sparse)
    if values is not None:
        table.weight.data.copy_(values)
    return table


class AttentionPooling(nn.Module):
    """Weighted mean of hidden states, weighted by their match with a learned context vector.

    (5) u = tanh(W h + b), (6) α = softmax(u · c), (7) pooled = Σ α h, as Yang et al. (2016) number
    them; HAN and BiLSTM, in their own files, call (5) and (6) together (2), and (7) there is (3).
    The IMDb report writes u without b. ``attention`` is the size of u; 0 leaves the
    projection out, u = h / √hidden: a scaled dot product (Jain and Wallace 2019). Each of several
    ``hops`` has its own context vector c, and their weights are averaged (Lin et al. 2017
    concatenate instead; a mean keeps the size, and the averaged weights are exactly those of the
    pooled mean). ``weights`` turns scores and mask into α.
    """

    def __init__(
        self,
        hidden: int,
        attention: int,
        hops: int = 1,
        weights: Callable[[Tensor, Tensor], Tensor] = masked_softmax,
    ) -> None:
        super().__init__()
        self.weights = weights
        self.projection = nn.Linear(hidden, attention) if attention else None
        width = attention or hidden
        self.contexts = nn.Parameter(torch.randn(hops, width) / width**0.5)

    def forward(
        self, h: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """``h`` ``(n, length, hidden)``, ``mask`` ``(n, length)`` → pooled ``(n, hidden)`` and
        attention per hop ``(n, hops, length)``; a given ``attention`` ``(n, length)``
        replaces that of every hop and is used as it is: the caller renormalises it."""
        if attention is None:
            scores = fast.at_real_places(self.match, h, mask)  # (n, length, hops)
            alpha = self.weights(scores.transpose(1, 2), mask.unsqueeze(1))  # (6) (n, hops, length)
        else:
            alpha = attention.unsqueeze(1).expand(-1, len(self.contexts), -1)
        pooled = alpha.mean(1, keepdim=True).to(h.dtype) @ h  # (7) (n, 1, hidden)
        return pooled.squeeze(1), alpha

    def match(self, h: Tensor) -> Tensor:
        """The scores u · c of states ``(…, hidden)`` with each hop's context vector c:
        ``(…, hops)``."""
        u = torch.tanh(self.projection(h)) if self.projection else h / h.shape[-1] ** 0.5  # (5)
        return u @ self.contexts.T


class BilinearAttention(nn.Module):
    """Attention of queries to keys by a bilinear score, softmax(q W Hᵀ) (Tutek and Šnajder 2018,
    IRAM). With the tokens as queries this is SANet's formula (Letarte et al. 2018; its code is
    ``SelfAttention``). Neither divides by √d.
    """

    def __init__(self, queries: int, keys: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(queries, keys))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, q: Tensor, h: Tensor, mask: Tensor) -> Tensor:
        """``q`` ``(n, rows, queries)``, ``h`` ``(n, length, keys)`` and ``mask`` of the keys
        ``(n, length)`` → attention ``(n, rows, length)``."""
        return masked_softmax(q @ self.weight @ h.transpose(1, 2), mask.unsqueeze(1))


class LSTMLayer(nn.Module):
    """A bidirectional LSTM layer on which padding has no effect; ``hidden`` is even.

    The biases are the weights of one more input, which is 1 at each word and 0 on padding, so an
    LSTM that reads padding stays at zero.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs + 1, hidden // 2, bias=False, batch_first=True)
        self.backwards = nn.LSTM(inputs + 1, hidden // 2, bias=False, batch_first=True)
        self.reset_biases()

    def reset_biases(self) -> None:
        """Set all biases to 0, and those of the forget gates to 1."""
        with torch.no_grad():
            for lstm in (self.forwards, self.backwards):
                bias = lstm.weight_ih_l0[:, -1].unflatten(0, (4, -1))  # gates: i, f, g, o
                bias.zero_()
                bias[1] = 1

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` with the real entries first →
        states ``(n, length, hidden)``, zero on padding, and the last state and cell of both
        directions, ``(n, hidden)``: forward at the last word, backward at the first.
        """
        if not x.shape[1]:  # PyTorch's LSTM takes no empty sequence
            nothing = self.forwards.weight_hh_l0.new_zeros(len(x), 2 * self.forwards.hidden_size)
            return nothing.new_zeros(len(x), 0, nothing.shape[1]), nothing, nothing
        x = torch.cat([x, torch.ones_like(x[:, :, :1])], 2)
        without_padding = mask.device.type == "cpu" and mask.all()  # a GPU would have to wait
        if not without_padding:
            return fast.lstm_over_padding(self.forwards, self.backwards, x, mask)
        right, (right_h, right_c) = self.forwards(x)
        left, (left_h, left_c) = self.backwards(x.flip(1))
        h = torch.cat([right, left.flip(1)], 2)
        return h, torch.cat([right_h[0], left_h[0]], 1), torch.cat([right_c[0], left_c[0]], 1)


class Highway(nn.Module):
    """Keeps or replaces each number: y = g ∘ x + (1 − g) ∘ f(x), layer after layer.

    g = σ(W_g x + b_g) with b_g = 1 at the start, so about 73 % of each number is kept; f(x) =
    max(0, W_f x + b_f). Srivastava et al. (2015) gate the other way round, g ∘ f(x) + (1 − g) ∘ x,
    where a bias of 1 would favour the transformation; IRAM's paper specifies neither.
    """

    def __init__(self, width: int, layers: int = 1) -> None:
        super().__init__()
        self.gates = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.transforms = nn.ModuleList([nn.Linear(width, width) for _ in range(layers)])
        self.reset_biases()

    def reset_biases(self) -> None:
        """Set the biases of the transformations to 0, those of the gates to 1."""
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            nn.init.ones_(gate.bias)
            nn.init.zeros_(transform.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, width)`` → the same shape."""
        for gate, transform in zip(self.gates, self.transforms, strict=True):
            g, f = torch.sigmoid(gate(x)), torch.relu(transform(x))
            x = torch.lerp(f.to(x.dtype), x, g.to(x.dtype))  # g ∘ x + (1 − g) ∘ f(x), of one dtype
        return x


class Maxout(nn.Module):
    """Each output is the largest of ``pool`` linear maps of the input (Goodfellow et al. 2013)."""

    def __init__(self, inputs: int, outputs: int, pool: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs * pool)
        self.shape = pool, outputs  # of what the linear map returns

    def forward(self, x: Tensor) -> Tensor:
        """``(…, inputs)`` → ``(…, outputs)``."""
        return self.linear(x).unflatten(-1, self.shape).max(-2).values


def positions(length: int, width: int, dtype: torch.dtype | None = None) -> Tensor:
    """Sinusoidal positions ``(length, width)`` in [−1, 1], to be added to word vectors.

    PE(p, 2i) = sin(p / 10000^{2i/d}), PE(p, 2i+1) = cos of the same angle, so that moving k
    positions rotates each pair by a fixed angle (Vaswani et al. 2017, §3.5; SANet uses them). The
    last sine of an odd ``width`` has no cosine.
    """
    feature = torch.arange(width)
    # float32 is too coarse for the fastest angles at late positions
    scale = 10000 ** ((feature - feature % 2).double() / width)
    angle = torch.arange(length).unsqueeze(1) / scale
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos()).to(
        dtype or torch.get_default_dtype()
    )


class Dropout(nn.Dropout):
    """Dropout whose mask is drawn faster than PyTorch's on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape → the same, each entry zero with probability ``p``, the others ÷ (1 − p)."""
        if self.training and 0 < self.p < 1 and x.device.type == "cpu":
            return fast.bit_cut_dropout(x, self.p)
        return super().forward(x)


class LockedDropout(nn.Module):
    """Dropout whose mask is the same at every position of a sequence (Gal and Ghahramani 2016).

    A sequence loses the same features at every word. It also draws one random number per feature
    of a sequence instead of one per position, which on a CPU saves a tenth of a training step.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)`` → the same, each feature of a sequence zero with
        probability ``rate``, the others ÷ (1 − ``rate``)."""
        if not self.training or self.rate == 0:
            return x
        keep = torch.rand(x.shape[0], 1, x.shape[2], device=x.device) >= self.rate
        return x * (keep / (1 - self.rate)).to(x.dtype)
