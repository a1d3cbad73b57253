"""Networks as what the tests of ``course_lib.faithfulness`` take: functions of documents."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.backends import cudnn

from course_lib.faithfulness.documents import WORDS_AT_ONCE, Document, in_batches, words_of
from course_lib.faithfulness.interventions import Answer

if TYPE_CHECKING:
    import datasets


class ReadableSystem(Protocol):
    """What a ``DocumentModel`` asks of a system, as ``runs.systems.NeuralSystem`` describes it."""

    model: nn.Module
    reads_sentences: bool
    cut: Callable[..., list[list[str]]]
    batch: Callable[..., tuple[Tensor, Tensor]]
    forward: Callable[..., Any]
    word_attention: Callable[..., dict[str, Tensor]]
    attention_of: Callable[..., Tensor | None]
    given: Callable[..., Any]
    visible: Callable[..., Tensor]
    change_vectors: Callable[..., Any]
    see_states: Callable[..., Any]
    encoder: Callable[[], nn.Module | None]


class Attended(NamedTuple):
    """The ``attention`` of one document, its ``real`` places in the same shape, and ``answer``,
    the model with its attention given: what ``faithfulness.interventions`` take."""

    attention: np.ndarray
    real: np.ndarray
    answer: Answer


class DocumentModel:
    """A trained network as a function from documents to class probabilities.

    Its documents are what the network reads: lists of words, or of sentences where the network
    reads sentences. ``documents`` cuts rows of a corpus to that; nothing is cut afterwards, so no
    word from behind the cut comes in for one that is removed. A filler that is in no vocabulary, as
    ``"⟨unknown⟩"``, is read as the unknown word. Everything raises ``ValueError`` while the
    network is in training mode.
    """

    def __init__(self, system: ReadableSystem) -> None:
        self.system = system

    def documents(self, rows: "datasets.Dataset") -> list[Document]:
        """The rows' words, sentence by sentence where the network reads sentences."""
        kept = [self.system.cut(row) for row in rows]
        return kept if self.system.reads_sentences else [words_of(document) for document in kept]

    @torch.inference_mode()
    def __call__(self, documents: Sequence[Document]) -> np.ndarray:
        """Class probabilities ``(documents, classes)``, in float64."""
        return probabilities_of(self._model()(*self._batch(documents)).logits)

    def gradients(
        self,
        documents: Sequence[Document],
        classes: np.ndarray,
        scale: float = 1.0,
        detached: bool = False,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Compute per document its word vectors ``(words, width)``, and in the same shape the
        gradient of the log-odds of its class, log p_j / (1 − p_j), at ``scale`` times them.

        With ``detached`` the attention is a constant, so no gradient passes through it;
        ``ValueError`` for a network without attention. The vectors are those that
        ``system.change_vectors`` changes. Those of FullIRAM are the input of its highway, i.e. word
        vector and n-gram mean.
        """

        def vectors_and_slopes(
            texts: list[Document], their_classes: np.ndarray
        ) -> list[tuple[np.ndarray, np.ndarray]]:
            model, (tokens, mask) = self._model(), self._batch(texts)
            options = {}
            # cuDNN's recurrent layers refuse a backward pass in evaluation mode
            with scaled_vectors(self.system, scale) as seen, cudnn.flags(enabled=False):
                if detached:
                    with torch.no_grad():
                        options["attention"] = self.system.given(*self._attention(tokens, mask))
                scores = log_odds(model(tokens, mask, **options).logits, their_classes)
                vectors, at = seen[-1]  # the first pass, if detached, also left an entry
                (slopes,) = torch.autograd.grad(scores.sum(), at)
            return list(zip(*(_of_words(each, mask) for each in (vectors, slopes)), strict=True))

        return in_batches("gradients", vectors_and_slopes, documents, np.asarray(classes))

    def attention_gradients(
        self, documents: Sequence[Document], classes: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Compute per document all weights on its words ``(rows, words)``, and in the same shape
        the gradient of the log-odds of its class.

        A network has one row of weights or many. The gradient passes through the division that
        makes a row sum to 1. The weights are those of ``attended``, without those on IRAM's
        summaries; but a word's gradient counts what passes through the summaries. ``ValueError``
        for a network without attention.
        """

        def weights_and_slopes(
            texts: list[Document], their_classes: np.ndarray
        ) -> list[tuple[np.ndarray, np.ndarray]]:
            model, (tokens, mask) = self._model(), self._batch(texts)
            with torch.no_grad():
                weights, output = self._attention(tokens, mask)
            attention = self.system.given(weights.requires_grad_(), output)
            with cudnn.flags(enabled=False):
                scores = log_odds(model(tokens, mask, attention=attention).logits, their_classes)
                (slopes,) = torch.autograd.grad(scores.sum(), weights)
            real = _array(mask.flatten(1)).astype(bool)
            pairs = zip(_on_words(weights, mask), _on_words(slopes, mask), real, strict=True)
            return [(alpha[:, words], slope[:, words]) for alpha, slope, words in pairs]

        return in_batches("attention gradients", weights_and_slopes, documents, np.asarray(classes))

    def attention(self, documents: Sequence[Document]) -> dict[str, list[np.ndarray]]:
        """Compute each of the family's reductions of attention to words, by name: one importance
        vector per document. Empty for a network without attention."""
        return self.answers(documents)[1]

    def answers(
        self, documents: Sequence[Document]
    ) -> tuple[np.ndarray, dict[str, list[np.ndarray]]]:
        """Compute in one pass the probabilities that a call gives and what ``attention`` gives."""

        @torch.inference_mode()
        def probabilities_and_words(texts: list[Document]) -> list[tuple[np.ndarray, dict]]:
            self._model()  # refuses training mode
            tokens, mask = self._batch(texts)
            output = self.system.forward(tokens, mask)
            importances = _per_document(self.system.word_attention(output, mask), mask)
            return list(zip(probabilities_of(output.logits), importances, strict=True))

        per_document = in_batches("attention", probabilities_and_words, documents)
        names = per_document[0][1] if per_document else ()
        probabilities = np.array([row for row, _ in per_document])
        return probabilities, {name: [one[name] for _, one in per_document] for name in names}

    def states(self, documents: Sequence[Document]) -> list[np.ndarray]:
        """Compute the states that the attention of the first block or step weighs: ``(words,
        width)`` per document.

        Those of HAN, BiLSTM and IRAM are recurrent states, so they depend on neighbours; those of
        SANet and AGT are projected words. ``ValueError`` for another network.
        """
        seen: list[Tensor] = []

        @torch.inference_mode()
        def states_of_words(texts: list[Document]) -> list[np.ndarray]:
            tokens, mask = self._batch(texts)
            self._model()(tokens, mask)
            return _of_words(seen[-1], mask)

        with self.system.see_states(seen.append):
            return in_batches("states", states_of_words, documents)

    def attended(self, document: Document) -> Attended:
        """Return a document's attention, and the network as a function of other attention.

        HAN's attention is that of words within sentences; the sentences keep their weights.
        SANet's is ``(blocks, words, words)``, IRAM's ``(steps, words + steps − 1)``, AGT's
        ``(layers, words)``. ``ValueError`` for a network without attention.
        """
        model, (tokens, mask) = self._model(), self._batch([document])
        with torch.inference_mode():
            weights, output = self._attention(tokens, mask)
        at_once = max(1, WORDS_AT_ONCE // mask.numel())

        @torch.inference_mode()
        def answer(attention: np.ndarray) -> np.ndarray:
            parts = torch.from_numpy(attention).to(weights).split(at_once)
            return np.concatenate([probabilities_of(logits_with(part)) for part in parts])

        def logits_with(part: Tensor) -> Tensor:
            inputs = (tensor.expand(len(part), *tensor.shape[1:]) for tensor in (tokens, mask))
            with encoded_once(self.system.encoder(), len(part)):
                return model(*inputs, attention=self.system.given(part, output)).logits

        real = self.system.visible(weights, mask)[0]
        return Attended(_array(weights[0]), _array(real).astype(bool), answer)

    def _model(self) -> nn.Module:
        """The network; ``ValueError`` in training mode."""
        model = self.system.model
        if any(module.training for module in model.modules()):
            raise ValueError(
                "the model is in training mode, so dropout would be measured, too: "
                "call system.model.eval() first"
            )
        return model

    def _batch(self, documents: Sequence[Document]) -> tuple[Tensor, Tensor]:
        """Tokens and mask as the network reads them; ``ValueError`` for words where it reads
        sentences."""
        sentences = self.system.reads_sentences
        if sentences and any(words_of(d) and isinstance(d[0], str) for d in documents):
            raise ValueError("documents takes sentences of words: this network reads sentences")
        texts = [document if sentences else [words_of(document)] for document in documents]
        return self.system.batch(texts)

    def _attention(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Any]:
        """The network's attention over words, and its output; ``ValueError`` without any."""
        output = self.system.forward(tokens, mask)
        weights = self.system.attention_of(output)
        if weights is None:
            raise ValueError("this network has no attention")
        return weights, output


@contextmanager
def scaled_vectors(system: ReadableSystem, scale: float) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Let a network read ``scale`` times its word vectors while the context lasts.

    For each pass the list receives a pair: the vectors as they were, and the scaled ones, with
    respect to which gradients are computed.
    """
    seen: list[tuple[Tensor, Tensor]] = []

    def scaled(x: Tensor) -> Tensor:
        at = (scale * x.detach()).requires_grad_()
        seen.append((x.detach(), at))
        return at

    with system.change_vectors(scaled):
        yield seen


@contextmanager
def encoded_once(encoder: nn.Module | None, count: int) -> Iterator[None]:
    """Let a network's ``encoder``, if it has one, encode only the first text of a batch while the
    context lasts: all ``count`` texts are equal."""
    if encoder is None:
        yield
        return
    with (
        encoder.register_forward_pre_hook(lambda _, inputs: tuple(x[:1] for x in inputs)),
        encoder.register_forward_hook(
            lambda _, inputs, output: tuple(
                x if x is None else x.expand(count, *x.shape[1:]) for x in output
            )
        ),
    ):
        yield


def log_odds(logits: Tensor, classes: np.ndarray) -> Tensor:
    """log p_j / (1 − p_j) of each document's class j, ``(batch,)``."""
    chosen = torch.from_numpy(classes).to(logits.device).unsqueeze(1)
    others = logits.scatter(1, chosen, -torch.inf).logsumexp(1)
    return logits.gather(1, chosen).squeeze(1) - others


def _of_words(vectors: Tensor, mask: Tensor) -> list[np.ndarray]:
    """Split the vectors of all words, as the network makes them, into ``(words, width)`` for each
    document."""
    if mask.dim() == 3:  # they are ``(real sentences, words, width)``
        per_document, mask = mask.sum((1, 2)), mask[mask.any(2)]
    else:
        per_document = mask.sum(1)
    return np.split(_array(vectors[mask]), per_document.cumsum(0).tolist()[:-1])


def _on_words(weights: Tensor, mask: Tensor) -> np.ndarray:
    """All weights on words, ``(batch, rows, words)``, padding included."""
    if weights.shape == mask.shape:  # HAN, BiLSTM
        return _array(weights.flatten(1).unsqueeze(1))
    return _array(weights[..., : mask.shape[1]].flatten(1, -2))


def _per_document(by_name: dict[str, Tensor], mask: Tensor) -> list[dict[str, np.ndarray]]:
    """Split importances by name, ``(batch, length)`` each, into a dictionary for each document, of
    importances ``(words,)``."""
    arrays, real = {name: _array(words) for name, words in by_name.items()}, _array(mask) > 0
    return [{name: each[n][real[n]] for name, each in arrays.items()} for n in range(len(mask))]


def probabilities_of(logits: Tensor) -> np.ndarray:
    """Class probabilities of logits ``(batch, classes)``, in float64."""
    return _array(logits.double().softmax(1))


def _array(values: Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()
