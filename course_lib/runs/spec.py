"""What to run: a system, a dataset, a preset with some settings changed, and a seed."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
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
BESIDE_SETTINGS = ("system", "dataset", "limit", "seed", "test")  # what else decides a result


@dataclass(frozen=True)
class RunSpec:
    """What somebody asks for. ``resolve`` checks it and says what will be run.

    ``overrides`` change settings of the preset by address, such as ``{"model.hidden": 60}``;
    ``limit`` keeps that many training rows; ``test`` says whether to evaluate on the test half,
    which should happen once per seed. ``text.vectors`` may be a name of ``NAMED_VECTORS`` or the
    path of a vectors file, and ``dataset`` that of a file or folder of labelled texts.
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

    def resolve(self) -> "Plan":
        """The plan of this run: its settings, its id, and files by name and digest.

        A file of texts or vectors is read here, once; the plan holds its name and digest
        (``custom_texts``, ``custom_vectors``), which say the same on any machine. ``SpecError``
        names what cannot run, ``DataError`` a file that holds no texts or vectors.
        """
        overrides, dataset = self.overrides, self.dataset
        if not isinstance(overrides, dict):
            raise SpecError(f"overrides takes values by address, got {overrides!r}")
        vectors = overrides.get(VECTORS)
        if isinstance(vectors, str):
            overrides = overrides | {VECTORS: NAMED_VECTORS.get(vectors) or named_vectors(vectors)}
        if isinstance(dataset, str):
            dataset = named_texts(dataset)
        spec = replace(self, overrides=overrides, dataset=dataset)
        system = choose("system", spec.system, known_systems())
        usual = choose("preset", spec.preset, system.presets)
        settings = with_overrides(usual, overrides)
        system.check(settings)
        system.check(settings, _training_rows(spec, settings))
        return Plan(spec, settings, _name(spec, differences(settings, usual)))


@dataclass(frozen=True)
class Plan:
    """A run that has been checked: the ``spec`` with files by name and digest, all ``settings``,
    and an ``id`` of at most 60 characters, which describes the run. Device and threads aside, two
    specs of the same code with different results have different ids. ``RunSpec.resolve`` makes
    it."""

    spec: RunSpec
    settings: Settings
    id: str

    def resolve(self) -> "Plan":
        """Itself, so that whoever takes a spec takes a plan too."""
        return self

    @property
    def identity(self) -> str:
        """The digest of system, dataset, all settings, the rows asked for, the seed and the choice
        of test half, by ``identity_of``."""
        return identity_of(asdict(self.spec), asdict(self.settings))


def _training_rows(spec: RunSpec, settings: Settings) -> int:
    """How many rows the network learns from; ``SpecError`` for a field that cannot run."""
    sizes = _sizes(spec.dataset)
    rows = sum(sizes["train"])
    _check(spec, "seed", "a whole number from 0 to 2³² − 1", range(2**32))
    _check(spec, "threads", "a whole number from 1", range(1, sys.maxsize))
    _check(spec, "test", "True or False", (True, False))
    if spec.limit is not None:
        _check(spec, "limit", f"20 to {rows} training rows", range(20, max(rows, 20) + 1))
        if spec.limit > rows:
            raise SpecError(f"limit asks for {spec.limit} training rows; there are {rows}")
    if not isinstance(spec.device, str):
        raise SpecError(f"device takes a name, got {spec.device!r}")
    rows = spec.limit or rows
    if "validation" not in sizes:
        rows -= held_out_rows(rows, settings.text.validation_share)
    return rows


def _check(spec: RunSpec, name: str, takes: str, values: range | tuple[bool, ...]) -> None:
    """Raise ``SpecError`` unless a field is one of these, of their own type."""
    value = getattr(spec, name)
    if type(value) is not type(values[0]) or value not in values:
        raise SpecError(f"{name} takes {takes}, got {value!r}")


def _sizes(dataset: Any) -> dict[str, tuple[int, ...]]:
    """The rows of each class in each split; ``SpecError`` lists the datasets there are."""
    if isinstance(dataset, str) and CUSTOM.fullmatch(dataset):
        return card(dataset).sizes
    corpora = {name: each for name, each in CARDS.items() if each.sizes}
    return choose("dataset", dataset, corpora).sizes


def _name(spec: RunSpec, changes: Mapping[str, Any]) -> str:
    """The id of a run. Changes that do not fit are replaced by a short digest of all."""
    head = [spec.system, dataset_in_names(spec.dataset), spec.preset]
    head += [] if spec.limit is None else [f"{spec.limit}rows"]
    words = [SHORT.get(change) or in_words(*change) for change in changes.items()]
    end = [*([] if spec.test else ["notest"]), f"s{spec.seed}"]
    name = "-".join([*head, *words, *end])
    if len(name) <= LONGEST_ID:
        return name
    last = "-".join(["", digest_of([head, changes])[:6], *end])
    while words and len("-".join([*head, *words]) + last) > LONGEST_ID:
        words.pop()
    return "-".join([*head, *words])[: LONGEST_ID - len(last)] + last


def dataset_in_names(dataset: str) -> str:
    """A dataset as part of a file's name."""
    return NOT_IN_NAMES.sub("_", dataset)


def identity_of(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The digest of a run's settings, system, dataset, rows, seed and choice of test half.

    The preset is left out, since its name can change while its settings stay, and so are device and
    threads, on which the result depends only in its last digits.
    """
    what = {name: spec[name] for name in BESIDE_SETTINGS}
    return f"sha256:{digest_of(what | {'settings': flat_settings(settings)})}"


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
