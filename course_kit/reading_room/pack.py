"""Trained networks packed for the engine: weights, words, vectors.

A bundle is gzip. Unpacked it holds the length of a header (uint32), the header (JSON,
which says where everything is) and the parts. Large matrices have 12 bits a number (11 in a
pre-trained network) and a scale per row, other parameters float16, vectors int8; the committed ones
are there once, whichever networks read them.
"""

import gzip
import json
import struct
from collections.abc import Sequence
from dataclasses import asdict
from itertools import takewhile
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from nltk.tokenize.punkt import PunktSentenceTokenizer

from course_kit.research.word_vectors.compact_vectors import COMPACT, in_bytes
from course_lib.data.text import fetch_punkt, trained_punkt, untrained_punkt
from course_lib.data.vectors import all_but_the_top, common_part
from course_lib.data.vocabulary import RESERVED, UNKNOWN
from course_lib.files import DataError
from course_lib.runs import load_recorded, load_run
from course_lib.runs.run import Run
from course_lib.runs.systems import NeuralSystem
from course_lib.runs.systems.minilm_system import MiniLMSystem
from course_lib.runs.systems.transformer_system import TransformerSystem
from course_lib.runs.weights import EMBEDDING

ROOM = (
    "han-imdb-compact-s0",
    "sanet-ag_news-compact-s0",
    "iram-sst2-compact-s0",
    "agt-sst5-compact-s0",
    "transformer-movies2-lesson-s0",
)
PRETRAINED = "minilm-sst2_sentences-adapters-s0"
NAMES = {
    **{"han": "HAN", "sanet": "SANet", "iram": "IRAM", "agt": "AGT"},
    **{"transformer": "Transformer", "minilm": "MiniLM"},
}
LARGE = 30_000  # numbers of a matrix that is worth fewer bits each; smaller ones cost little in 16
GROUP = 32  # numbers of a piece's vector that share a scale: a few of the 384 are far larger
LARGE_IN_HEADS = 5_000  # all matrices of a Transformer, which has many of equal size
MOST = 2047  # of 12 bits with a sign
MOST_PRETRAINED = 1023  # of 11
SAME = 1e-5  # standardised vectors may be rounded differently
LONGEST = 255  # characters that two words can share, in a byte


def open_runs(names: Sequence[str | Path]) -> list[Run]:
    """Recorded networks by their id (``str``) and finished runs by their folder (``Path``)."""
    return [load_run(name) if isinstance(name, Path) else load_recorded(name) for name in names]


def bundle(runs: Sequence[Run], exact: bool = False) -> bytes:
    """Runs as what the engine loads; ``exact`` keeps parameters in float32.

    ``DataError`` naming the run and what the engine cannot compute.
    """
    for run in runs:
        check_packable(run)
    if len({reads_pieces(run) for run in runs}) > 1:
        raise DataError(
            "pre-trained networks need a page of their own: attention-course room --pretrained"
        )
    parts = Parts(exact)
    tables = Tables(parts)
    models = [_model(run, parts, tables) for run in runs]
    untrained = bool(runs) and all(
        reads_pieces(run) or run.system.tokeniser == "untrained" for run in runs
    )
    splitter = untrained_punkt() if untrained else trained_punkt(fetch_punkt())
    punkt = json.dumps(punkt_parameters(splitter), ensure_ascii=False).encode()
    header = {"tables": tables.stored, "models": models, "punkt": parts.text(punkt)}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 4)
    whole = struct.pack("<I", len(text)) + text + bytes(parts.data)
    return gzip.compress(whole, mtime=0)


def reads_pieces(run: Run) -> bool:
    """Whether a network cuts words into pieces, as pre-trained ones do."""
    return isinstance(run.system, MiniLMSystem)


def check_packable(run: Run) -> None:
    """Raise ``DataError`` for a run that the engine cannot compute."""
    name, system = run.record["id"], run.system
    if run.record["spec"]["system"] not in NAMES or not isinstance(system, NeuralSystem):
        known = ", ".join(NAMES.values())
        raise DataError(
            f"{name}: the reading room runs {known}, and this is {run.record['spec']['system']}"
        )
    if system.tokeniser == "unicode":
        raise DataError(f"{name}: the reading room reads English words, and this run Unicode's")
    model = system.settings.model
    if not getattr(model, "attention", True) or not getattr(model, "steps", True):
        raise DataError(f"{name}: the reading room shows attention, and this network has none")
    if getattr(model, "ngrams", 0):
        why = "the reading room cannot compute vectors of character n-grams"
        raise DataError(f"{name}: {why}; train a network with model.ngrams=0")


class Parts:
    """The bytes of a bundle, each part at a multiple of four."""

    def __init__(self, exact: bool) -> None:
        self.exact, self.data = exact, bytearray()

    def add(self, data: bytes) -> int:
        """Where ``data`` now is."""
        self.data += b"\0" * (-len(self.data) % 4)
        place = len(self.data)
        self.data += data
        return place

    def text(self, data: bytes) -> dict[str, int]:
        """The place and length of some bytes."""
        return {"at": self.add(data), "bytes": len(data)}

    def parameter(self, values: np.ndarray, large: int = LARGE, most: int = MOST) -> dict[str, Any]:
        """A parameter: float32 if all is to be exact, whole numbers up to ``most`` if it is
        ``large``, else float16."""
        if not self.exact and values.ndim > 1 and values.size >= large:
            scale = np.abs(values).max(-1, keepdims=True).astype(np.float32) / most
            numbers = np.rint(values / np.maximum(scale, np.finfo(np.float32).tiny)) + most
            planes = np.divmod(numbers.astype(np.uint16), 256)  # gzip makes less of each alone
            planes = np.stack(planes).astype(np.uint8)
            return self.rows(planes, scale, values.shape, "twelve") | {"most": most}
        return self.numbers(values, "float32" if self.exact else "float16")

    def numbers(self, values: np.ndarray, kind: str = "float32") -> dict[str, Any]:
        """A tensor, number by number."""
        return {"shape": values.shape, "kind": kind, "at": self.add(values.astype(kind).tobytes())}

    def rows(
        self, numbers: np.ndarray, scale: np.ndarray, shape: Sequence[int], kind: str = "int8"
    ) -> dict[str, Any]:
        """A tensor of ``shape`` from whole numbers and the scale of each row."""
        places = {"at": self.add(numbers.tobytes()), "scale": self.add(scale.tobytes())}
        return {"shape": tuple(shape), "kind": kind, **places}


class Tables:
    """Words with their vectors; the committed ones are stored once."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.stored = parts, []
        self.shared: int | None = None
        with np.load(COMPACT) as file:
            self.words = tuple(file["words"].tolist())
            self.bytes, self.scale = file["vectors"], file["scale"]

    def add(self, run: Run) -> tuple[int, dict[str, Any] | None]:
        """The number of the table that a run reads, and the common part to take from its vectors
        (None: nothing)."""
        vocabulary = run.vocabulary
        vectors = run.model.state_dict()[EMBEDDING][RESERVED:].float().cpu().numpy()
        if vocabulary.words == self.words and vectors.shape == self.bytes.shape:
            committed = self.bytes * self.scale[:, None]
            common = common_part(committed)
            forms = {None: committed, "common": all_but_the_top(committed, common)}
            for form, values in forms.items():
                if np.allclose(values, vectors, rtol=0, atol=SAME):
                    if self.shared is None:
                        self.shared = self._store(self.words, True, self.bytes, self.scale)
                    return self.shared, form and {
                        "mean": self.parts.numbers(common.mean),
                        "directions": self.parts.numbers(common.directions),
                    }
        if self.parts.exact:
            return self._store(vocabulary.words, vocabulary.folded, vectors), None
        width = vectors.shape[1]
        group = gcd(GROUP, width) if reads_pieces(run) else width
        numbers, scale = in_bytes(vectors.reshape(-1, group))
        numbers, scale = numbers.reshape(vectors.shape), scale.reshape(len(vectors), -1)
        if group < width:  # half of their bits are 0 then, which gzip sees
            scale = scale.astype(np.float16).astype(np.float32)
        return self._store(vocabulary.words, vocabulary.folded, numbers, scale), None

    def _store(
        self,
        words: Sequence[str],
        folded: bool,
        vectors: np.ndarray,
        scale: np.ndarray | None = None,
    ) -> int:
        read = [place for place, word in enumerate(words) if not word.startswith("[unused")]
        order = sorted(read, key=words.__getitem__)
        shared, endings = front_coded([words[place] for place in order])
        if scale is None:
            stored = self.parts.numbers(vectors[order])
        else:
            stored = self.parts.rows(vectors[order], scale[order], vectors.shape)
        coded = {"shared": self.parts.text(shared), "endings": self.parts.text(endings.encode())}
        groups = 1 if scale is None else scale.size // len(words)
        self.stored.append({"folded": folded, "vectors": stored, "groups": groups, **coded})
        return len(self.stored) - 1


def front_coded(words: Sequence[str]) -> tuple[bytes, str]:
    """Sorted words as how many first characters each shares with the one before, and the rest of
    each, one a line. Shared characters are of the basic plane, one unit each in JavaScript."""
    shared, endings = bytearray(), []
    for before, word in zip(["", *words], words):
        pairs = takewhile(lambda pair: pair[0] == pair[1] <= "\uffff", zip(before, word))
        shared.append(min(LONGEST, sum(1 for _ in pairs)))
        endings.append(word[shared[-1] :])
    return bytes(shared), "\n".join(endings)


def _model(run: Run, parts: Parts, tables: Tables) -> dict[str, Any]:
    """What the engine needs of a network, and where its weights are."""
    text = run.system.settings.text
    table, common = tables.add(run)
    parameters = run.model.named_parameters()
    state = {name: values.detach().float().cpu().numpy() for name, values in parameters}
    unknown = state.pop(EMBEDDING)[UNKNOWN]
    for name in [name for name in state if name.endswith(".a")]:  # adapters, merged: W + B A
        layer = name.removesuffix(".a")
        adapter = state.pop(f"{layer}.b") @ state.pop(name)
        state[f"{layer}.weight"] = state[f"{layer}.weight"] + adapter
    size = (LARGE_IN_HEADS,) if isinstance(run.system, TransformerSystem) else ()
    size = (LARGE, MOST_PRETRAINED) if reads_pieces(run) else size
    return {
        "id": run.record["id"],
        "system": run.record["spec"]["system"],
        "config": asdict(run.system.settings.model),
        "cut": {
            "sentences": run.system.reads_sentences,
            "maxSentences": text.max_sentences,
            "maxWords": text.max_words,
            "maxTokens": text.max_tokens,
        },
        "reads_pieces": reads_pieces(run),
        "table": table,
        "common": common,
        "unknown": parts.numbers(unknown),
        "weights": {name: parts.parameter(values, *size) for name, values in state.items()},
    }


def punkt_parameters(splitter: PunktSentenceTokenizer) -> dict[str, list]:
    """How a splitter splits: abbreviations, collocations (two words with a blank), words that begin
    sentences, and the orthographic context of each word in NLTK's bits."""
    parameters = splitter._params
    return {
        "abbreviations": sorted(parameters.abbrev_types),
        "collocations": sorted(" ".join(pair) for pair in parameters.collocations),
        "starters": sorted(parameters.sent_starters),
        "context": sorted(parameters.ortho_context.items()),
    }
