"""What all neural systems share: vocabulary, vectors, training, looking and reading."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
import torch
from accelerate.utils import set_seed
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.batches import Batches, Documents
from course_lib.data.catalog import names_of
from course_lib.data.config import OF_VECTORS
from course_lib.data.encoding import encode_documents, encode_sentences
from course_lib.data.text import TokenisedText
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.metrics.invariants import evaluating
from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems.system import Evaluation, Rows, Text, as_tokens, refuse
from course_lib.training.devices import choose_precision
from course_lib.training.history import History
from course_lib.training.loop import fit, measure, predict
from course_lib.training.weights import save_weights
from course_lib.views.reading import Attention, Reading

LOOKED_AT = 32  # documents at once whose attention is held in full
PREDICTED = 256  # documents at once without it


class NeuralSystem:
    """A neural system: a subclass says how its network is made and what can be seen in it.

    ``presets`` are its settings by name. ``network_of`` is its class, ``scorers`` names what
    computes its attention, ``figures`` measures the attention of a batch's output, ``views`` splits
    the attention of one document into views, ``word_attention`` reduces it to words.
    ``reads_sentences`` says whether documents are sentences of words; otherwise they are one
    sequence. Call ``build`` first, then ``fit``, then the others; ``load`` replaces both.
    """

    presets: ClassVar[dict[str, Settings]]
    network_of: ClassVar[type[nn.Module]]
    reads_sentences: ClassVar[bool] = False

    def __init__(
        self, settings: Settings, classes: tuple[str, ...], tokeniser: str = "english"
    ) -> None:
        """``tokeniser`` names how typed texts become words, as those of the corpus did."""
        self.settings, self.classes, self.tokeniser = settings, tuple(classes), tokeniser
        self.vocabulary: Vocabulary | None = None
        self.coverage: float | None = None  # share of the vocabulary that has a vector
        self.vectors: list[dict[str, Any]] = []  # which files of vectors it starts from
        self.model: nn.Module | None = None

    # What each family of networks defines.

    def network(self, embedding: Tensor | None) -> nn.Module:
        """The untrained network over the vocabulary's words, by default ``network_of`` the config.

        Its word vectors are a parameter ``embedding.weight``, from which ``load`` takes their size.
        """
        return self.network_of(
            self.settings.model, len(self.vocabulary), len(self.classes), embedding
        )

    def scorers(self, model: nn.Module) -> list[nn.Module]:
        """The modules of ``model`` that compute its attention's scores and nothing else.

        With all their parameters at zero, the scores are equal. Freeze controls need them.
        """
        raise NotImplementedError

    def forward(self, tokens: Tensor, mask: Tensor) -> Any:
        """The network's output with its attention: a ``NamedTuple`` with ``logits``, of which each
        field is None or a tensor ``(batch, …)``."""
        return self.model(tokens, mask)

    def figures(self, output: Any, mask: Tensor) -> dict[str, Tensor]:
        """Figures of each document's attention; empty without attention."""
        return {}

    def views(
        self, output: Any, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """The attention of the only document in a batch, by name, the most informative first.

        ``words`` are all words read, ``lengths`` the number of words in each sentence.
        """
        return {}

    def word_attention(self, output: Any, mask: Tensor) -> dict[str, Tensor]:
        """Reductions of a batch's attention to one importance per word, by name, each of the
        shape of ``mask``; empty without attention."""
        return {}

    def in_words(self, tokens: Sequence[str], values: np.ndarray) -> tuple[Sequence[str], Any]:
        """The words that ``tokens`` make up, and their ``values`` ``(tokens, …)`` added up."""
        return tokens, values

    # What the tests of faithfulness see and change: attention over words, and the states under it.

    def attention_of(self, output: Any) -> Tensor | None:
        """The attention over words that ``given`` takes back; None for a network without any."""
        return output.attention

    def given(self, weights: Tensor, output: Any) -> Any:
        """The argument ``attention`` of the network for other weights in the form of
        ``attention_of``; whatever else attends keeps its weights in ``output``."""
        return weights

    def visible(self, weights: Tensor, mask: Tensor) -> Tensor:
        """Where such weights may go, in their shape."""
        return mask if weights.shape == mask.shape else mask.unsqueeze(1).expand_as(weights)

    def change_vectors(self, change: Callable[[Tensor], Tensor]) -> RemovableHandle:
        """Let the network read ``change`` of its word vectors until the handle is removed."""
        return self.model.embedding.register_forward_hook(lambda _, __, x: change(x))

    def encoder(self) -> nn.Module | None:
        """The module that reads word vectors and a mask before any attention, and returns a tuple
        of tensors ``(batch, …)`` or None; equal texts can share its work. None for a network
        without such a module."""
        return None

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """Show the states that attention weighs, pass by pass, until the handle is removed;
        ``ValueError`` for a network without."""
        raise ValueError(f"{type(self.model).__name__} has no states that attention weighs")

    # What they share.

    @classmethod
    def check(cls, settings: Settings, rows: int | None = None) -> None:
        """Raise ``SpecError`` for settings that do not fit together."""
        if cls.reads_sentences:
            why = "this system reads sentences: cut them by text.max_sentences and text.max_words"
            refuse(settings, "text", ("max_tokens",), why)
        else:
            why = "this system reads one sequence of words: cut it by text.max_tokens"
            refuse(settings, "text", ("max_sentences", "max_words"), why)
        weights, model = settings.control.attention_weights, settings.model
        if weights != "learned" and not (
            getattr(model, "attention", True) and getattr(model, "steps", True)
        ):
            raise SpecError(
                f"control.attention_weights is {weights!r}, but this network has no attention"
            )
        training = settings.training
        if getattr(settings.model, "sparse", False):
            why = "model.sparse gives gradients that only plain SGD takes: set it to false"
            refuse(settings, "training", ("weight_decay", "clip_norm"), why)
            if training.optimizer != "sgd":
                raise SpecError(f"training.optimizer is {training.optimizer!r}, but {why}")
        if training.momentum and training.optimizer != "sgd":
            raise SpecError("training.momentum is SGD's alone; the others have their own")

    @classmethod
    def remade(cls, settings: Settings) -> bool:
        """Whether the settings alone give the vocabulary and the word vectors."""
        text = settings.text
        known = set(text.vectors.split("+")) <= set(names_of("vectors"))
        return known and text.vocabulary_from == OF_VECTORS

    def encode(self, rows: datasets.Dataset) -> Documents:
        """Word ids, cut as the settings say."""
        text = self.settings.text
        if self.reads_sentences:
            return encode_documents(rows, self.vocabulary, text.max_sentences, text.max_words)
        return encode_documents(rows, self.vocabulary, flat=True, max_tokens=text.max_tokens)

    def build(self, rows: Rows, seed: int) -> None:
        """Make the vocabulary and the untrained network."""
        text = self.settings.text
        if text.vocabulary_from == OF_VECTORS:
            self.vocabulary = load_vectors(text.vectors).vocabulary
        else:
            chosen = [rows[split] for split in text.vocabulary_from.split("+")]
            words = datasets.concatenate_datasets(chosen)
            self.vocabulary = Vocabulary.build(words, text.vocabulary_limit)
        self.model = self.untrained(seed)

    def untrained(self, seed: int) -> nn.Module:
        """The network as it is before training, its scorers frozen if the control says so.

        Whatever the control, all other weights are the same.
        """
        set_seed(seed)
        text, embedding = self.settings.text, None
        if text.vectors != "none":
            vectors = load_vectors(text.vectors)
            self.vectors = vectors.provenance
            embedding, self.coverage = vectors.embedding_for(
                self.vocabulary, seed, text.standardise, text.without_vector
            )
        model = self.network(embedding)
        weights = self.settings.control.attention_weights
        if weights != "learned":
            freeze(self.scorers(model), at_zero=weights == "uniform")
        return model

    def before_training(self, seed: int) -> "NeuralSystem":
        """The same system with its network as it is before training."""
        twin = copy(self)
        twin.model = self.untrained(seed)
        return twin

    def fit(
        self,
        rows: Rows,
        seed: int,
        device: torch.device | None = None,
        folder: Path | None = None,
        after_epoch: Callable[[History], None] | None = None,
    ) -> dict[str, Any]:
        """Train, resuming from ``folder``; returns vocabulary, vectors, epochs and precision."""
        train, validation = self.encode(rows["train"]), self.encode(rows["validation"])
        history = fit(
            self.model,
            train,
            validation,
            self.settings.training,
            seed=seed,
            device=device,
            folder=folder,
            after_epoch=after_epoch,
        )
        words = sum(map(len, rows["validation"]["tokens"]))
        where = next(self.model.parameters()).device
        return {
            "vocabulary": {"size": len(self.vocabulary), "covered_by_vectors": self.coverage},
            "vectors": self.vectors,
            "share_of_words_kept": len(validation.words) / max(1, words),
            "epochs": [asdict(epoch) for epoch in history.epochs],
            "best_epoch": history.best + 1,
            "precision": choose_precision(self.settings.training.precision, where),
        }

    def evaluate(self, rows: datasets.Dataset, attention: bool = True) -> Evaluation:
        """Predictions for rows, and figures of every document's attention."""
        documents, most = self.encode(rows), self.settings.training.most_tokens
        device = next(self.model.parameters()).device
        if not attention or not self.has_figures:
            batches = Batches(documents, PREDICTED)
            return Evaluation(predict(self.model, batches, device, most_tokens=most), {})

        def measured(tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
            output = self.forward(tokens, mask)
            return output.logits, self.figures(output, mask)

        batches = Batches(documents, LOOKED_AT)
        found = measure(self.model, batches, measured, device, "attention", most_tokens=most)
        return Evaluation(*found)

    @property
    def has_figures(self) -> bool:
        """Whether this network has attention that can be measured; steps, if two to compare."""
        model = self.settings.model
        found = getattr(model, "attention", True) and getattr(model, "steps", 2) > 1
        return bool(found) and type(self).figures is not NeuralSystem.figures

    def read(self, text: Text) -> Reading:
        """Tokens after the cut, attention by name, probabilities of all classes."""
        return self.read_together([text])[0]

    @torch.inference_mode()
    def read_together(self, texts: list[Text]) -> list[Reading]:
        """``read`` of documents that are equally long after the cut, in one batch.

        Without padding, the output of each is as it would be alone.
        """
        texts = [self.tokenised(text) for text in texts]
        kept = [self.kept(text) for text in texts]
        with evaluating(self.model):
            outputs = self.forward(*self.batch(kept))
        probabilities = outputs.logits.float().softmax(1).cpu().numpy()
        readings = []
        for row, (text, sentences) in enumerate(zip(texts, kept, strict=True)):
            words = tuple(word for sentence in sentences for word in sentence)
            lengths = tuple(map(len, sentences))
            views = self.views(_of_one(outputs, row, len(kept)), words, lengths) if words else {}
            rest = tuple(_left_out(text, sentences))
            readings.append(Reading(words, lengths, self.classes, probabilities[row], views, rest))
        return readings

    def batch(self, documents: list[list[list[str]]]) -> tuple[Tensor, Tensor]:
        """Tokens and mask of documents as ``cut`` leaves them, on the network's device."""
        encoded = encode_sentences(documents, self.vocabulary, flat=not self.reads_sentences)
        batch = encoded.batch(np.arange(len(documents)))
        return batch.to(next(self.model.parameters()).device)[:2]

    def tokenised(self, text: Text) -> TokenisedText:
        """All tokens of a document."""
        return as_tokens(text, self.tokeniser)

    def cut(self, text: Text) -> list[list[str]]:
        """The words that the network reads, sentence by sentence."""
        return self.kept(self.tokenised(text))

    def kept(self, document: TokenisedText) -> list[list[str]]:
        """Those of a document's tokens that are within the cut, sentence by sentence."""
        text, ends = self.settings.text, np.cumsum(document.sentence_lengths, dtype=int)
        if not self.reads_sentences and text.max_tokens:
            ends = np.minimum(ends, text.max_tokens)
        starts = [0, *ends[:-1]]
        sentences = [document.tokens[a:b] for a, b in zip(starts, ends) if a < b]
        if self.reads_sentences:
            sentences = sentences[: text.max_sentences or None]
            sentences = [words[: text.max_words or None] for words in sentences]
        return [list(words) for words in sentences]

    def save(self, folder: Path) -> None:
        """Save weights and vocabulary in a folder."""
        self.vocabulary.save(folder / "vocabulary.txt")
        save_weights(self.model.state_dict(), folder / "model.safetensors")

    def load(self, folder: Path) -> None:
        """Load them from there; the model is then ready to read."""
        folded = self.settings.text.vocabulary_from == OF_VECTORS
        self.vocabulary = Vocabulary.load(folder / "vocabulary.txt", folded)
        state = load_file(folder / "model.safetensors")
        self.model = self.network(state["embedding.weight"])
        self.model.load_state_dict(state)
        self.model.eval()


def _of_one(outputs: Any, row: int, count: int) -> Any:
    """The output of a batch for one of its ``count`` documents, as a batch of it alone;
    ``TypeError`` for an output that is not as ``NeuralSystem.forward`` says."""
    if not hasattr(outputs, "_fields"):
        raise TypeError(f"the network's output takes a NamedTuple, got {type(outputs).__name__}")
    for name, values in zip(outputs._fields, outputs, strict=True):
        shape = getattr(values, "shape", None)
        if values is not None and (not shape or shape[0] != count):
            got = type(values).__name__ if shape is None else f"the shape {tuple(shape)}"
            raise TypeError(
                f"the field {name!r} of the network's output takes None or a tensor (batch, …), "
                f"here of {count}; got {got}"
            )
    return type(outputs)(*(each if each is None else each[row : row + 1] for each in outputs))


def see_input(module: nn.Module, see: Callable[[Tensor], None]) -> RemovableHandle:
    """Show a module's first input, pass by pass, until the handle is removed."""
    return module.register_forward_pre_hook(lambda _, inputs: see(inputs[0]))


def freeze(modules: list[nn.Module], at_zero: bool = False) -> None:
    """Keep modules from learning: their parameters stay as they are, or at zero.

    Scorers at zero give equal scores, so the softmax that follows gives uniform weights: 1/n for
    each of the n things that may be attended to, and 0 for padding as always.
    """
    for module in modules:
        module.requires_grad_(False)
        if at_zero:
            for parameter in module.parameters():
                parameter.zero_()


def _left_out(document: TokenisedText, kept: list[list[str]]) -> Iterator[str]:
    """The words of a document that are not among the first ones ``kept`` of each sentence."""
    ends = np.cumsum(document.sentence_lengths, dtype=int)
    sentences = zip([0, *ends[:-1]], ends)
    for (start, end), words in zip_longest(sentences, kept, fillvalue=()):
        yield from document.tokens[start + len(words) : end]


def rows_of(weights: Tensor) -> np.ndarray:
    """Weights of one document as an array."""
    return weights.float().cpu().numpy()
