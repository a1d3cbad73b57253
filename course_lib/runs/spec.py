"""What to run: a system, a dataset, a preset with some settings changed, and a seed."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from course_lib.checking import instead
from course_lib.data.catalog import CARDS, card
from course_lib.data.custom_data import named_texts
from course_lib.data.naming import CUSTOM, NOT_IN_NAMES
from course_lib.data.vector_files import named_vectors
from course_lib.runs.settings import (
    Settings,
    SpecError,
    differences,
    flat_settings,
    in_words,
    with_overrides,
)
from course_lib.runs.systems import known_systems

VECTORS = "text.vectors"
# Vectors that many runs read, by the name that specs and run ids use for them.
NAMED_VECTORS = {
    "film": "glove.6B.50d+imdb-cbow-300d-s0.npz@2ba9f51b6e6b",
    "static": "reviews.100d+minilm.160d",
}
# Changes that many runs share, as they stand in an id.
SHORT = {("text.vectors", value): name for name, value in NAMED_VECTORS.items()} | {
    ("text.vocabulary_from", "train+validation+test"): "every-word",
    ("text.without_vector", "zero"): "else-zero",
}
LONGEST_ID = 60  # characters
# Settings that are younger than some records, and what those runs did. An identity leaves these
# values out, so that it stays what it was before the setting existed.
LATER = {
    "text.without_vector": "random",
    "model.xavier": False,
    "training.halve_after": 0,
    "training.warmup": 0.0,
    "control.attention_weights": "learned",
}
BESIDE_SETTINGS = ("system", "dataset", "limit", "seed", "test")  # what else decides a result


@dataclass(frozen=True)
class RunSpec:
    """What to run. ``overrides`` change settings of the preset by their addresses, such as
    ``{"model.hidden": 60}``; ``limit`` keeps that many training rows; ``test`` says whether to
    evaluate on the test half, which should happen once per seed.

    ``text.vectors`` may be a name of ``NAMED_VECTORS`` or the path of a vectors file, and
    ``dataset`` that of a file or folder of labelled texts. A file is read at once, and the spec
    holds its name and digest instead (``custom_vectors``, ``custom_texts``), which say the same on
    any machine; ``DataError`` for a file that holds none.
    """

    system: str = "han"
    dataset: str = "imdb"
    preset: str = "report"
    overrides: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    threads: int = 2
    limit: int | None = None
    test: bool = True

    def __post_init__(self) -> None:
        vectors = self.overrides.get(VECTORS) if isinstance(self.overrides, dict) else None
        if isinstance(vectors, str):
            named = NAMED_VECTORS.get(vectors) or named_vectors(vectors)
            object.__setattr__(self, "overrides", self.overrides | {VECTORS: named})
        if isinstance(self.dataset, str):
            object.__setattr__(self, "dataset", named_texts(self.dataset))

    def preset_settings(self) -> Settings:
        """The preset unchanged; ``SpecError`` lists the existing systems or presets."""
        presets = choose("system", self.system, known_systems()).presets
        return choose("preset", self.preset, presets)

    def settings(self) -> Settings:
        """The preset with the overrides; raises ``SpecError`` naming what does not fit."""
        if not isinstance(self.overrides, dict):
            raise SpecError(f"overrides takes values by address, got {self.overrides!r}")
        settings = with_overrides(self.preset_settings(), self.overrides)
        known_systems()[self.system].check(settings)
        return settings

    def validate(self) -> None:
        """Raise ``SpecError`` for anything that cannot run, before anything starts."""
        settings = self.settings()
        sizes = self._sizes()
        rows = sum(sizes["train"])
        self._check("seed", "a whole number from 0 to 2³² − 1", range(2**32))
        self._check("threads", "a whole number from 1", range(1, sys.maxsize))
        self._check("test", "True or False", (True, False))
        if self.limit is not None:
            self._check("limit", f"20 to {rows} training rows", range(20, max(rows, 20) + 1))
            if self.limit > rows:
                raise SpecError(f"limit asks for {self.limit} training rows; there are {rows}")
        if not isinstance(self.device, str):
            raise SpecError(f"device takes a name, got {self.device!r}")
        rows = self.limit or rows
        if "validation" not in sizes:
            rows -= held_out_rows(rows, settings.text.validation_share)
        known_systems()[self.system].check(settings, rows)

    def _check(self, name: str, takes: str, values: range | tuple[bool, ...]) -> None:
        """Raise ``SpecError`` unless a field is one of these, of their own type."""
        value = getattr(self, name)
        if type(value) is not type(values[0]) or value not in values:
            raise SpecError(f"{name} takes {takes}, got {value!r}")

    def _sizes(self) -> dict[str, tuple[int, ...]]:
        """The rows of each class in each split; ``SpecError`` lists the datasets there are."""
        if isinstance(self.dataset, str) and CUSTOM.fullmatch(self.dataset):
            return card(self.dataset).sizes
        corpora = {name: entry for name, entry in CARDS.items() if entry.sizes}
        return choose("dataset", self.dataset, corpora).sizes

    @property
    def id(self) -> str:
        """A name of at most 60 characters that describes the run, and differs whenever the result
        may differ. Changes that do not fit are replaced by a short digest of all."""
        changes = differences(self.settings(), self.preset_settings())
        head = [self.system, self.dataset_name, self.preset]
        head += [] if self.limit is None else [f"{self.limit}rows"]
        words = [SHORT.get(change) or in_words(*change) for change in changes.items()]
        end = [*([] if self.test else ["notest"]), f"s{self.seed}"]
        name = "-".join([*head, *words, *end])
        if len(name) <= LONGEST_ID:
            return name
        end = "-".join(["", digest_of([head, changes])[:6], *end])
        while words and len("-".join([*head, *words]) + end) > LONGEST_ID:
            words.pop()
        return "-".join([*head, *words])[: LONGEST_ID - len(end)] + end

    @property
    def dataset_name(self) -> str:
        """The dataset as part of a file's name."""
        return NOT_IN_NAMES.sub("_", self.dataset)

    @property
    def identity(self) -> str:
        """The digest of all that the result depends on, by ``identity_of``."""
        return identity_of(asdict(self), asdict(self.settings()))


def identity_of(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The digest of a run's settings, system, dataset, rows, seed and choice of test half.

    The preset is left out, since its name can change while its settings stay, and so are device and
    threads, on which the result depends only in its last digits.
    """
    every = flat_settings(settings)
    chosen = {name: value for name, value in every.items() if LATER.get(name, ...) != value}
    what = {name: spec[name] for name in BESIDE_SETTINGS}
    return f"sha256:{digest_of(what | {'settings': chosen})}"


def digest_of(value: Any) -> str:
    """The sha256 of a value as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def held_out_rows(rows: int, share: float) -> int:
    """How many of the training rows are held out for validation; ``SpecError`` if none is, or all
    are."""
    held_out = round(share * rows)
    if not 0 < held_out < rows:
        raise SpecError(
            f"text.validation_share holds out {held_out} of {rows} training rows; "
            f"at least one must be on each side, got {share!r}"
        )
    return held_out


def choose(what: str, name: Any, entries: dict[str, Any]) -> Any:
    """The entry of that name; ``SpecError`` lists the existing names."""
    if not isinstance(name, str) or name not in entries:
        raise SpecError(f"no {what} {name!r}; {instead(name, sorted(entries))}")
    return entries[name]
