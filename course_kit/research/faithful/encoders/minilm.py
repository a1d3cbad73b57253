"""A pre-trained Transformer with frozen weights, whose states are computed once and kept.

A word's state is the mean of its pieces' last states, along the 100 directions in which those of
the training texts vary most. The states of a corpus are kept in float16 in the data folder.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from course_kit.research.faithful import corpora
from course_lib.data.pieces import Pieces, load_pieces
from course_lib.data.pretrained import fetch_network
from course_lib.faithfulness.documents import length_batches
from course_lib.files import atomic_path, data_root
from course_lib.front_end import progress
from course_lib.models.bert import Bert, BertConfig, from_bert

WIDTH = 100
AXES_FROM = 20_000  # states of training texts that decide the directions
SPECIAL_WORDS = {"⟨unknown⟩": "[MASK]", "⟨mean⟩": "[unused1]"}  # what stands for a removed word


def encoder(width: int) -> nn.Module:
    """Nothing more is learned between the kept states and attention."""
    return Kept()


class Kept(nn.Module):
    """States as they are."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(batch, length, width)`` → the same."""
        return x


class States:
    """The frozen network's states of a corpus's texts, and of any others, cached."""

    def __init__(self, corpus: str) -> None:
        self.corpus, self.known = corpus, {}
        self.folder = data_root() / "prepared" / "faithful" / corpus
        self._pieces: dict[str, list[int]] = {}

    @cached_property
    def network(self) -> Bert:
        """MiniLM in bfloat16, with the mean of all vectors of pieces in place of an unused one."""
        model, folder = Bert(BertConfig(), len(self.splitter.vocabulary), 2), fetch_network()
        weights = from_bert(load_file(folder / "model.safetensors"))
        table = weights["embedding.weight"]
        table[self._ids("⟨mean⟩")[0]] = table.mean(0)
        model.load_state_dict(model.state_dict() | weights)
        return model.to(torch.bfloat16).eval()

    @cached_property
    def splitter(self) -> Pieces:
        """What splits words into pieces."""
        return load_pieces(fetch_network())

    def kept(self, split: str) -> np.ndarray:
        """The states of all words of a split, text after text: ``(words, 384)`` float16."""
        path = self.folder / f"{split}.npy"
        if not path.exists():
            texts = corpora.load(self.corpus)[split].words
            states = np.concatenate(self.encode(texts, f"{self.corpus} {split}"))
            with atomic_path(path) as temporary:
                np.save(temporary, states)
        return np.load(path, mmap_mode="r")

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean state of the training texts, and the directions ``(384, WIDTH)``, of which each
        is scaled so that the states' mean square along all of them is 1."""
        states = np.asarray(self.kept("train")[:AXES_FROM], dtype=np.float64)
        mean = states.mean(0)
        values, vectors = np.linalg.eigh(np.cov((states - mean).T))
        vectors = vectors[:, ::-1][:, :WIDTH] / np.sqrt(values[::-1][:WIDTH].mean())
        signs = np.sign(vectors[np.abs(vectors).argmax(0), np.arange(WIDTH)])
        return mean, vectors * signs

    def reduced(self, states: np.ndarray) -> np.ndarray:
        """``(words, 384)`` → ``(words, WIDTH)`` float16."""
        mean, axes = self.axes
        return ((states - mean) @ axes).astype(np.float16)

    def of(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The reduced states of any texts, ``(words, WIDTH)`` each; none is computed twice."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self.known]
        for text, states in zip(new, self.encode(new, ""), strict=True):
            self.known[text] = self.reduced(states)
        return [self.known[tuple(text)] for text in texts]

    @torch.inference_mode()
    def encode(self, texts: Sequence[Sequence[str]], what: str) -> list[np.ndarray]:
        """The last states of texts, a word's being the mean of its pieces': ``(words, 384)``."""
        pieces = [[self._ids(word) for word in text] for text in texts]
        lengths = np.array([sum(map(len, of_text)) for of_text in pieces])
        found: list[np.ndarray] = [np.empty((0, 384), np.float16)] * len(texts)
        with progress(total=len(texts), desc=what, disable=not what) as bar:
            for places in length_batches(lengths, most_words=2048):
                if lengths[places].max(initial=0):
                    for place, states in zip(
                        places, self._last_states([pieces[n] for n in places])
                    ):
                        found[place] = states
                bar.update(len(places))
        return found

    def _last_states(self, pieces: list[list[list[int]]]) -> list[np.ndarray]:
        ids = [torch.tensor([i for word in text for i in word]) for text in pieces]
        tokens = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(i)) for i in ids], batch_first=True).bool()
        output = self.network(tokens, mask, return_states=True)
        last = output.states[:, -1, : tokens.shape[1]].float().numpy()
        found = []
        for text, states in zip(pieces, last, strict=True):
            counts = np.array([len(word) for word in text])
            starts = counts.cumsum() - counts
            sums = np.add.reduceat(states[: counts.sum()], starts) if len(text) else states[:0]
            found.append((sums / counts[:, None]).astype(np.float16))
        return found

    def _ids(self, word: str) -> list[int]:
        """The ids of a word's pieces, at least one."""
        if word not in self._pieces:
            special = SPECIAL_WORDS.get(word)
            pieces = [special] if special else self.splitter.split([word])[0] or ["[UNK]"]
            self._pieces[word] = self.splitter.vocabulary.encode(pieces).tolist()
        return self._pieces[word]
