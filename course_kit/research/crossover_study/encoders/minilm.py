"""States of a pre-trained Transformer with frozen weights, which are computed once and kept.

They are taken along the 100 directions in which those of the training texts vary most. Those of a
corpus are kept in float16 in a folder.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from sklearn.decomposition import PCA
from torch import nn

from course_lib.data.pieces import load_pieces
from course_lib.data.pretrained import fetch_network
from course_lib.faithfulness.documents import length_batches
from course_lib.files import atomic_path
from course_lib.front_end import progress
from course_lib.models.bert import Bert, BertConfig, from_bert

UNKNOWN, MEAN = "⟨unknown⟩", "⟨mean⟩"  # what stands for a word that is masked, or averaged away
UNUSED = "[unused1]"  # a piece of the network, which has the mean of all pieces' vectors here
PIECES = {UNKNOWN: "[MASK]", MEAN: UNUSED}
AT_ONCE = 2048  # pieces
WIDTH = 100
REMEMBERED = 30_000  # texts, about 250 MB
AXES_FROM = 20_000  # states of training texts that decide the directions


class States:
    """The frozen network's states of a corpus's texts, kept in a folder, and of any others.

    ``words`` gives the texts of a split. At most ``REMEMBERED`` other texts stay in memory.
    """

    def __init__(self, folder: Path, words: Callable[[str], Sequence[Sequence[str]]]) -> None:
        self.folder, self.words, self.known = folder, words, {}

    @cached_property
    def network(self) -> "WordStates":
        """Read when the first state is asked for that is not kept."""
        return WordStates()

    def kept(self, split: str) -> np.ndarray:
        """The states of all words of a split, text after text: ``(words, 384)`` float16."""
        path = self.folder / f"{split}.npy"
        if not path.exists():
            states = np.concatenate(self.network(self.words(split), f"states of {split}"))
            with atomic_path(path) as temporary:
                np.save(temporary, states)
        return np.load(path, mmap_mode="r")

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the training texts' states ``(384,)``, and the ``WIDTH`` directions in which
        they vary most, ``(384, WIDTH)``, scaled alike so that the mean square along them is 1."""
        found = PCA(WIDTH, svd_solver="covariance_eigh")
        found.fit(np.asarray(self.kept("train")[:AXES_FROM]).astype(np.float64))
        return found.mean_, found.components_.T / np.sqrt(found.explained_variance_.mean())

    def reduced(self, states: np.ndarray) -> np.ndarray:
        """``(words, 384)`` → ``(words, WIDTH)`` float16."""
        mean, axes = self.axes
        return ((states - mean) @ axes).astype(np.float16)

    def of(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The reduced states of any texts, ``(words, WIDTH)`` each; none that is remembered is
        computed again."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self.known]
        found = {text: self.reduced(h) for text, h in zip(new, self.network(new), strict=True)}
        asked = [found[key] if key in found else self.known[key] for key in map(tuple, texts)]
        room = max(0, REMEMBERED - len(self.known))
        self.known |= dict(list(found.items())[:room])
        return asked


class WordStates:
    """MiniLM in bfloat16; a word's state is the mean of its pieces' states after the last block.

    Example: ``WordStates()([["a", "fine", "film"]])``.
    """

    def __init__(self) -> None:
        folder = fetch_network()
        self.splitter, self._known = load_pieces(folder), {}
        self.network = Bert(BertConfig(), len(self.splitter.vocabulary), 2)
        weights = from_bert(load_file(folder / "model.safetensors"))
        table = weights["embedding.weight"]
        table[self.splitter.vocabulary.encode([UNUSED])[0]] = table.mean(0)
        self.network.load_state_dict(self.network.state_dict() | weights)
        self.network.to(torch.bfloat16).eval()

    @torch.inference_mode()
    def __call__(self, texts: Sequence[Sequence[str]], what: str = "") -> list[np.ndarray]:
        """``(words, 384)`` float16 of each text; with ``what`` a bar shows how far it is."""
        pieces = [[self._ids(word) for word in text] for text in texts]
        lengths = np.array([sum(map(len, words)) for words in pieces])
        found = [np.empty((0, self.network.config.width), np.float16)] * len(texts)
        with progress(total=len(texts), desc=what, disable=not what) as bar:
            for places in length_batches(lengths, AT_ONCE):
                filled = [n for n in places if lengths[n]]
                for place, states in zip(filled, self._states([pieces[n] for n in filled])):
                    found[place] = states
                bar.update(len(places))
        return found

    def _states(self, texts: list[list[list[int]]]) -> list[np.ndarray]:
        if not texts:
            return []
        ids = [torch.tensor([i for word in text for i in word]) for text in texts]
        tokens = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        mask = torch.arange(tokens.shape[1]) < torch.tensor([len(i) for i in ids])[:, None]
        last = self.network(tokens, mask, return_states=True).states[:, -1].float().numpy()
        found = []
        for text, states in zip(texts, last, strict=True):
            counts = np.array([len(word) for word in text])
            sums = np.add.reduceat(states[: counts.sum()], counts.cumsum() - counts)
            found.append((sums / counts[:, None]).astype(np.float16))
        return found

    def _ids(self, word: str) -> list[int]:
        """The ids of a word's pieces, at least one."""
        if word not in self._known:
            piece = PIECES.get(word)
            pieces = [piece] if piece else self.splitter.split([word])[0] or ["[UNK]"]
            self._known[word] = self.splitter.vocabulary.encode(pieces).tolist()
        return self._known[word]
