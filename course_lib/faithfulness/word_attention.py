"""Attention of each family reduced to one importance per word, with the derivation.

The method ``word_attention`` of a family's system chooses from these reductions and names them.
Only ``models.sanet.pooled_word_attention``, which needs no attention, lives elsewhere. The field
``HANOutput.word_attention`` is no reduction: it holds the weights of words within their sentences.

All take masks, True = real. Unless they say otherwise they give ``(batch, length)`` (HAN:
``(batch, sentences, words)``), 0 on padding, and the words of each document sum to 1. That a weight
is a share of something does not say that it is a cause: the tests of faithfulness ask that.
"""

import torch
from torch import Tensor

from course_lib.models.layers import real_weights, visible


def han_words(word_attention: Tensor, sentence_attention: Tensor) -> Tensor:
    """HAN's β_i α_it, ``(batch, sentences, words)``.

    Attention pools twice, s_i = Σ_t α_it h_it and d = Σ_i β_i g_i. If the GRU above the sentences
    passed them on as they are (g_i = s_i), d would be Σ_it (β_i α_it) h_it, so the product would be
    the share of word t of sentence i in the document vector. It is an approximation because both
    GRUs mix neighbours, in h_it and in g_i.
    """
    return sentence_attention.unsqueeze(-1) * word_attention


def mean_received(attention: Tensor, mask: Tensor) -> Tensor:
    """SANet's 1/n Σ_i α_ij in one block: the mean weight that word j gets from all words.

    ``attention`` ``(batch, length, length)``, row i holds what word i attends to. With mean pooling
    after the block, the pooled vector would hold Σ_j (1/n Σ_i α_ij) W_V x_j. SANet pools by maximum
    and adds x_i itself: see ``pooled_rollout``.
    """
    weights = real_weights(attention, mask.unsqueeze(1) & mask.unsqueeze(2))
    return weights.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def rollout(attention: Tensor, mask: Tensor) -> Tensor:
    """How much of word j arrives in each place i above all blocks, ``(batch, length, length)``.

    ``attention`` ``(batch, blocks, length, length)``. A block adds what it attends to and what was
    there, x + αxW_V, counted as half each: Ā = ½ (α + I). Blocks follow each other, so the shares
    multiply, Ā_B ⋯ Ā_1 (Abnar and Zuidema 2020). Rows of real words sum to 1, others are 0.
    """
    pairs = (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)  # (batch, 1, length, length)
    weights = real_weights(attention, pairs.expand_as(attention))
    mixed = identity = torch.diag_embed(mask.to(weights.dtype))
    for alpha in weights.unbind(1):
        mixed = (alpha + identity) / 2 @ mixed
    return mixed


def rollout_words(attention: Tensor, mask: Tensor) -> Tensor:
    """The mean of ``rollout`` over all places above, 1/n Σ_i (Ā_B ⋯ Ā_1)_ij."""
    return rollout(attention, mask).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def pooled_rollout(attention: Tensor, pooled: Tensor, mask: Tensor) -> Tensor:
    """``rollout`` from the places that max pooling took, Σ_i m_i (Ā_B ⋯ Ā_1)_ij.

    ``pooled`` ``(batch, length)`` holds m_i, the share of the pooled dimensions that stand in place
    i (``models.sanet.pooled_word_attention``); the other places never reach the classifier.
    """
    shares = rollout(attention, mask)
    return (pooled.to(shares.dtype).unsqueeze(1) @ shares).squeeze(1)


def iram_steps(attention: Tensor, mask: Tensor) -> Tensor:
    """IRAM's attention with the summaries unrolled to words, ``(batch, steps, length)``.

    ``attention`` ``(batch, T, length + T − 1)``. Step t sees words and earlier summaries,
    ŝ_t = Σ_i a_ti h_i + Σ_{r<t} a_t,r s_r. Counting a summary s_r as the words it was made of,
    u_t = a_t(words) + Σ_{r<t} a_t,r u_r, and each u_t sums to 1. The highway between ŝ and s is
    counted as the identity. The classifier reads the last summary, so the last row ranks the words.
    """
    length, steps = mask.shape[1], attention.shape[1]
    weights = real_weights(attention, visible(mask, steps))
    unrolled = weights[:, :1, :length]
    for step in range(1, steps):
        a = weights[:, step : step + 1]
        from_summaries = a[:, :, length : length + step] @ unrolled
        unrolled = torch.cat([unrolled, a[:, :, :length] + from_summaries], 1)
    return unrolled


def agt_layer_shares(gates: Tensor, selecting: int) -> Tensor:
    """How much of AGT's last y comes from each layer's selection, ``(batch, selecting)``, sum 1.

    ``gates`` ``(batch, L − 1, hidden)``. Layer by layer y ← T ∘ tanh(f) + (1 − T) ∘ y from y = s_0:
    dimension by dimension a gate T_l replaces that share of what was there. The new value is
    counted as layer l's, though f reads y as well as s_l. Above the selecting layers f reads y
    alone, in all its dimensions, so there the new value has the mean shares of y. The result is
    the mean over the dimensions.
    """
    batch, _, hidden = gates.shape
    shares = gates.new_zeros(batch, selecting, hidden)
    shares[:, 0] = 1
    for layer, gate in enumerate(gates.unbind(1), start=1):
        new = shares.mean(2, keepdim=True).expand_as(shares)
        if layer < selecting:
            new = torch.zeros_like(shares)
            new[:, layer] = 1
        shares = gate.unsqueeze(1) * new + (1 - gate.unsqueeze(1)) * shares
    return shares.mean(2)


def agt_words(attention: Tensor, gates: Tensor) -> Tensor:
    """AGT's Σ_l c_l d_l, ``(batch, length)``: each layer's attention d_l, ``(batch, selecting,
    length)`` together, weighted by its share c_l of the last y (``agt_layer_shares``)."""
    shares = agt_layer_shares(gates, attention.shape[1]).to(attention.dtype)
    return (shares.unsqueeze(1) @ attention).squeeze(1)
