"""Adapt networks of PyTorch and of transformers to what ``audit`` takes.

``model.untrained = lambda: …`` and ``model.twin = lambda seed: …`` add what only you can make: the
same network before training, and one trained from another seed, each in such an adapter.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.audit.asking import AuditError
from course_lib.data.text import normalised, words_and_signs
from course_lib.faithfulness.document_model import Attended, log_odds, probabilities_of
from course_lib.faithfulness.documents import as_array, in_batches
from course_lib.metrics.invariants import evaluating
from course_lib.training.devices import choose_device

PRODUCTS = "x · ∂ log-odds/∂x"


class _Batched:
    """A network asked in batches of similar length.

    A subclass has two methods: ``_inputs`` returns the network's inputs and ``owner`` ``(batch,
    tokens)``, the place of the word that each token belongs to, −1 for none; ``_run`` returns for
    these inputs logits, and the weights of the tokens by view, ``(batch, tokens)``.
    """

    network: nn.Module
    embedding: nn.Module
    _inputs: Callable[..., tuple[Any, np.ndarray]]
    _run: Callable[..., tuple[Tensor, dict[str, Tensor]]]

    def probabilities(self, documents: Sequence[list[str]]) -> np.ndarray:
        """Return probabilities ``(documents, classes)``."""
        return np.stack([shares for shares, _ in self._found(documents)])

    def attention(self, documents: Sequence[list[str]]) -> dict[str, list[np.ndarray]]:
        """Return the weights of each document's words by view, summed over their pieces."""
        found = [views for _, views in self._found(documents)]
        return {name: [views[name] for views in found] for name in found[0]}

    def gradients(
        self, documents: Sequence[list[str]], classes: np.ndarray, detached: bool = False
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return x · ∂ log-odds/∂x of each word, summed over its pieces, ``(words, 1)``, and 1.

        ``ValueError`` for ``detached``: an adapter cannot hold attention fixed for a gradient.
        """
        if detached:
            raise ValueError("detached: this adapter cannot hold attention for a gradient")
        found = [views[PRODUCTS][:, None] for _, views in self._found(documents, classes)]
        return [(products, np.ones_like(products)) for products in found]

    def _found(
        self, documents: Sequence[list[str]], classes: np.ndarray | None = None
    ) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Return for each document its probabilities, and its weights by view or, with classes,
        ``PRODUCTS``."""
        seen: list[Tensor] = []

        def watched(_: nn.Module, __: Any, x: Tensor) -> Tensor:
            seen.append(x.detach().requires_grad_(classes is not None))
            return seen[-1]

        def found(some: list[list[str]], *their: np.ndarray) -> list[tuple[np.ndarray, dict]]:
            inputs, owner = self._inputs(some)
            with torch.set_grad_enabled(bool(their)):
                logits, values = self._run(inputs)
                if their:
                    (slopes,) = torch.autograd.grad(log_odds(logits, *their).sum(), seen[-1])
                    values = {PRODUCTS: (slopes * seen[-1]).sum(-1)}
            arrays = {name: as_array(each) for name, each in values.items()}
            sums = [
                {n: np.bincount(o[o >= 0], a[row][o >= 0], len(words)) for n, a in arrays.items()}
                for row, (o, words) in enumerate(zip(owner, some, strict=True))
            ]
            return list(zip(probabilities_of(logits), sums, strict=True))

        with evaluating(self.network), self.embedding.register_forward_hook(watched):
            return in_batches("texts", found, documents, *([] if classes is None else [classes]))


class ModuleModel(_Batched):
    """A network of your own that reads one sequence of numbers.

    The gradient is that of its first ``nn.Embedding``; ``ValueError`` without one.

    Parameters
    ----------
    encode: ``encode(words)`` returns the numbers of a list of words; 0 is padding
    run: ``run(network, tokens, mask)``, both ``(batch, length)``, returns logits and attention
        ``(batch, length)``; with a further argument ``attention``, of that shape or None, other
        weights can be tried
    split: ``split(text)`` returns the words of a text
    classes: their names, in the order of the logits
    """

    def __init__(
        self,
        network: nn.Module,
        encode: Callable[[list[str]], Sequence[int]],
        run: Callable[..., tuple[Tensor, Tensor]],
        split: Callable[[str], list[str]] = words_and_signs,
        classes: Sequence[str] = (),
    ) -> None:
        self.network, self.encode, self.run, self.document = network, encode, run, split
        self.classes = tuple(classes)
        embeddings = (each for each in network.modules() if isinstance(each, nn.Embedding))
        self.embedding = next(embeddings, None)
        if self.embedding is None:
            raise ValueError("network has no nn.Embedding, so its words have no vectors")
        if "attention" in inspect.signature(run).parameters:
            self.attended = self._attended

    def _inputs(self, documents: list[list[str]]) -> tuple[Any, np.ndarray]:
        places = np.arange(max(1, *map(len, documents)))
        real = places < np.array([[len(document)] for document in documents])
        tokens = np.zeros(real.shape, dtype=np.int64)
        for row, mask, document in zip(tokens, real, documents):
            row[mask] = self.encode(list(document))
        device = next(self.network.parameters()).device
        inputs = tuple(torch.from_numpy(each).to(device) for each in (tokens, real))
        return inputs, np.where(real, places, -1)

    def _run(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        logits, attention = self.run(self.network, *inputs)
        return logits, {"attention": attention}

    def _attended(self, document: list[str]) -> Attended:
        (weights,) = self.attention([document])["attention"]

        @torch.inference_mode()
        def answer(candidates: np.ndarray) -> np.ndarray:
            inputs, _ = self._inputs([document] * len(candidates))
            given = torch.from_numpy(candidates).to(inputs[0].device, torch.float32)
            with evaluating(self.network):
                logits, _ = self.run(self.network, *inputs, attention=given)
            return probabilities_of(logits)

        return Attended(weights, np.ones(len(weights), dtype=bool), answer)


class HubModel(_Batched):
    """A sequence classifier of transformers, by its name or the folder that holds it.

    Its attention matrices are reduced to one weight a word in these views:

    * ``received``: what a word receives from all pieces, the mean over layers and heads;
    * ``first piece``: what the piece that the classifier reads ([CLS]) gives in the last layer, the
      mean over heads; ``last piece`` in a causal network, whose classifier reads that one;
    * ``rollout``: attention rollout from that piece (Abnar and Zuidema 2020);
    * for each of ``heads``, (layer, head) from 0: what a word receives in this head alone.

    In a causal network ``received`` favours early words, which more pieces can see. A document is
    cut to the words that the network has positions for. ``AuditError`` for a classifier that does
    not choose one class of several, or whose heads have no matrix over all pieces.
    """

    def __init__(self, name: str, heads: Sequence[tuple[int, int]] = ()) -> None:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        config = AutoConfig.from_pretrained(name)
        if why := _unfit(config):
            raise AuditError(f"{name} cannot be audited: {why}")
        self.tokenizer = AutoTokenizer.from_pretrained(name, add_prefix_space=True)
        if not self.tokenizer.is_fast:
            raise AuditError(
                f"{name} cannot be audited: its tokenizer, {type(self.tokenizer).__name__}, is a "
                "slow one, which does not tell the word that a piece belongs to"
            )
        self.network = AutoModelForSequenceClassification.from_pretrained(
            name, attn_implementation="eager"
        ).to(choose_device())
        config = self.network.config
        if self.tokenizer.pad_token is None:  # as GPT-2's; what stands there is masked
            self.tokenizer.pad_token = self.tokenizer.eos_token or self.tokenizer.unk_token
        if config.pad_token_id is None:
            config.pad_token_id = self.tokenizer.pad_token_id
        self.classes = tuple(str(config.id2label[n]) for n in range(config.num_labels))
        self.embedding, self.heads = self.network.get_input_embeddings(), tuple(heads)
        self.unknown = self.tokenizer.mask_token or self.tokenizer.unk_token
        positions = getattr(config, "max_position_embeddings", self.tokenizer.model_max_length)
        for part, module in self.network.named_modules():
            padding = getattr(module, "padding_idx", None)
            if part.endswith("position_embeddings") and padding is not None:
                positions -= padding + 1  # RoBERTa's begin behind that of its padding
        self.most = min(positions, self.tokenizer.model_max_length)
        self.causal = False
        try:
            weights = self._weights([["a", "b", "c", "d", "e"], ["a", "b"]])
        except AuditError as error:
            raise AuditError(f"{name} cannot be audited: its {error}") from error
        except Exception as error:
            raise AuditError(
                f"{name} cannot be audited: {type(self.network).__name__} gives no attention for "
                f"two short texts ({type(error).__name__}: {' '.join(str(error).split())})"
            ) from error
        self.causal = not weights.triu(1).any()

    def document(self, text: str) -> list[str]:
        """Return the words and marks of a text, as far as all their pieces have a position."""
        words = words_and_signs(normalised(text))
        encoded = self.tokenizer(words, is_split_into_words=True, truncation=False)
        own = len(self.tokenizer("", truncation=False)["input_ids"])
        kept = [word for word in encoded.word_ids() if word is not None][: self.most - own + 1]
        return words[: kept[-1]] if len(kept) > self.most - own else words

    def _inputs(self, documents: list[list[str]]) -> tuple[Any, np.ndarray]:
        options = {"is_split_into_words": True, "padding": True, "return_tensors": "pt"}
        encoded = self.tokenizer(documents, **options)
        places = [encoded.word_ids(n) for n in range(len(documents))]
        owner = np.array([[-1 if word is None else word for word in row] for row in places])
        return encoded.to(self.network.device), owner

    def _run(self, inputs: Any) -> tuple[Tensor, dict[str, Tensor]]:
        output = self.network(**inputs, output_attentions=True)
        weights, mask = _matrices(output, inputs["attention_mask"]), inputs["attention_mask"]
        real = mask[:, None, None, :, None]
        received = (weights * real).sum(3) / real.sum(3)
        order = torch.arange(mask.shape[1], device=mask.device) * (1 if self.causal else -1)
        read = (order - mask.shape[1] * (1 - mask)).argmax(1)  # by the classifier; none is padding
        first = rolled = nn.functional.one_hot(read, mask.shape[1]).to(weights)[:, None]
        for layer in reversed(weights.mean(2).unbind(1)):
            rolled = (rolled + rolled @ layer) / 2
        views = {
            "received": received.mean((1, 2)),
            "last piece" if self.causal else "first piece": (first @ weights[:, -1].mean(1))[:, 0],
            "rollout": rolled[:, 0],
        }
        return output.logits, views | {
            f"layer {layer}, head {head}": received[:, layer, head] for layer, head in self.heads
        }

    @torch.inference_mode()
    def _weights(self, documents: list[list[str]]) -> Tensor:
        """Return the attention of documents, ``(batch, layers, heads, pieces, pieces)``."""
        inputs, _ = self._inputs(documents)
        with evaluating(self.network):
            output = self.network(**inputs, output_attentions=True)
        return _matrices(output, inputs["attention_mask"])


def _unfit(config: Any) -> str:
    """Say by its configuration why a classifier cannot be audited; empty if it can."""
    if config.problem_type == "multi_label_classification":
        return "its classes do not exclude each other (multi-label), and an audit is about the one"
    if config.num_labels < 2:
        return "it gives a number and not one class of several"
    if config.is_encoder_decoder:
        return "it is an encoder with a decoder, which have three kinds of attention, and not one"
    if config.model_type == "xlnet":
        return "it is a permutation model, whose pieces attend in two streams"
    if getattr(config, "attention_type", "") == "block_sparse":
        return "its attention is sparse, over blocks of the text that are drawn by chance"
    return ""


def _matrices(output: Any, mask: Tensor) -> Tensor:
    """Stack the attention of all layers, ``(batch, layers, heads, pieces, pieces)``; ``AuditError``
    for another form."""
    batch, pieces = mask.shape
    shapes = [tuple(weights.shape) for weights in output.attentions or ()]
    if not shapes or any((*one[:1], *one[2:]) != (batch, pieces, pieces) for one in shapes):
        raise AuditError(
            "attention must be a matrix over all pieces for each head; that of "
            f"{batch} texts of {pieces} pieces has the shapes {shapes or None}"
        )
    return torch.stack(output.attentions, 1).detach()
