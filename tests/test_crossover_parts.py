"""Sparse weights of attention and kept states of a frozen network: parts of the study of sparse
attention."""

import numpy as np
import pytest
import torch

from course_kit.research.crossover_study.attentions.sparse import entmax15, sparsemax
from course_kit.research.crossover_study.encoders.minilm import States, WordStates
from course_kit.research.crossover_study.network import Pooled, Reader
from course_kit.research.sanity_checks.synthetic import write_texts
from course_lib.files import data_root

pytestmark = pytest.mark.full  # a study

DATA = data_root()  # looked up before a fixture hides it


def rows_of_scores(scale, texts=40, longest=13):
    torch.manual_seed(0)
    scores = (torch.randn(texts, longest) * scale).double()
    mask = torch.arange(longest) < torch.randint(1, longest + 1, (texts,))[:, None]
    return scores.requires_grad_(), mask


def by_bisection(scores, power):
    """The definition: Σ max(s (α − 1) − τ, 0)^{1 / (α − 1)} = 1, with τ found by halving."""
    s = scores.detach() * (1 / power)
    low, high = s.min() - 2, s.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if (s - tau).clamp(min=0).pow(power).sum() > 1 else (low, tau)
    return (s - tau).clamp(min=0).pow(power)


@pytest.mark.parametrize("weights, power", [(sparsemax, 1), (entmax15, 2)])
@pytest.mark.parametrize("scale", [0.1, 1, 20])
def test_sparse_weights_are_those_of_the_definition(weights, power, scale):
    scores, mask = rows_of_scores(scale)
    found = weights(scores, mask)
    for row, s, real in zip(found, scores, mask):
        assert torch.allclose(row[real], by_bisection(s[real], power), atol=1e-7)
        assert (row[~real] == 0).all()
    loss = (found * torch.randn_like(found)).sum()
    assert torch.autograd.grad(loss, scores)[0].isfinite().all()
    assert weights(scores, torch.zeros_like(mask)).abs().sum() == 0


@pytest.mark.parametrize("weights", [sparsemax, entmax15])
def test_gradients_of_sparse_weights(weights):
    scores, mask = rows_of_scores(1.0, texts=3, longest=5)
    assert torch.autograd.gradcheck(lambda s: weights(s, mask), scores)


class MadeUpStates:
    """A frozen network whose states follow from word and text; it counts what it encodes."""

    def __init__(self):
        self.encoded = 0

    def __call__(self, texts, what=""):
        self.encoded += len(texts)
        made = [np.random.default_rng(sum(map(ord, "".join(text)))) for text in texts]
        return [r.normal(size=(len(t), 384)).astype(np.float16) for r, t in zip(made, texts)]


def test_kept_states_are_computed_once(tmp_path):
    texts = [list(text.words) for text in write_texts("planted", 1000, seed=35)]
    states = States(tmp_path, {"train": texts}.get)
    states.network = MadeUpStates()
    assert states.kept("train").shape == (18 * len(texts), 384)
    reduced = states.reduced(np.asarray(states.kept("train")))
    assert reduced.shape[1] == 100 and (reduced.astype(float) ** 2).mean() == pytest.approx(1, 0.1)
    encoded = states.network.encoded
    first, again = states.of(texts[:2]), states.of(texts[1:3])
    assert states.network.encoded == encoded + 3 and first[1] is again[0]
    assert np.allclose(first[0], reduced[:18], atol=0.01)
    reader = Reader(Pooled("minilm", "additive", torch.zeros(3, 100), 2), None, states)
    assert reader.see(texts[:2]).states[1] == pytest.approx(first[1].astype(float))


@pytest.mark.skipif(not (DATA / "prepared" / "minilm").exists(), reason="takes MiniLM's files")
def test_states_of_the_real_network(monkeypatch):
    """Neighbours in a batch change no state; other words in the text do; a rare word has pieces."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(DATA))
    states = WordStates()
    texts = [["a", "tender", "film"], ["unwatchableness"], [], ["a", "tender", "⟨mean⟩", "story"]]
    together = states(texts)
    assert [len(each) for each in together] == [3, 1, 0, 4]
    for text, found in zip(texts, together):
        (alone,) = states([text])
        assert np.allclose(alone, found, atol=0.05)
    assert np.abs(together[0][1] - together[3][1]).max() > 0.2
