"""What runs will cost, told before they start: hours, by what is recorded, and megabytes to fetch.

Both are estimates: they say whether to wait for it, to leave it overnight, or to ask for a GPU.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from course_lib.data.catalog import CARDS, Card, Source, card, names_of
from course_lib.data.corpus import load_corpus, prepared_content
from course_lib.data.custom import CUSTOM
from course_lib.data.sources import at_hand
from course_lib.data.vector_store import prepared_folder
from course_lib.files import REPOSITORY
from course_lib.runs.spec import RunSpec

BENCHMARKS = REPOSITORY / "benchmarks" / "results"
# megabytes of text in both halves, by the published descriptions of the archives' contents; AG News
# and Amazon Full by the ratio of text to archive of the part and of the set next to them
TEXT_MEGABYTES = {
    "ag_news": 31, "dbpedia": 201, "yahoo_answers": 793, "yelp_polarity": 442, "yelp_full": 521,
    "amazon_full": 1667, "amazon_polarity": 1783,
}  # fmt: skip
BYTES_PER_TOKEN = 5.0  # 5.4 in our part of AG News, 4.8 in that of Amazon Full
# counted in the training rows
WORDS_PER_TEXT = {
    "imdb": 268.4, "imdb_unlabelled": 268.7, "huffpost": 34.8, "sst2": 12.0, "sst5": 10.8,
    "sst5_all": 4.1, "sst2_sentences": 19.3, "movies2": 21.7, "movies5": 21.7, "toy": 33.7,
}  # fmt: skip
SAMPLED = 1000  # training texts of a file of one's own whose words are counted
MEASURED = {  # the sizes in benchmarks/throughput.py that a system and its preset are nearest to
    "han": "HAN, 7 × 30 words", "agt": "AGT, 19 words",
    "iram": "IRAM full, 19 words", "iram vanilla": "IRAM vanilla, 19 words",
    "iram baseline": "IRAM vanilla, 19 words", "sanet": "SANet base, 256 words",
    "sanet big": "SANet big, 256 words", "sanet baseline-big": "SANet big, 256 words",
}  # fmt: skip


class Estimate(NamedTuple):
    """``runs`` to do; ``seconds`` of those of which something is known, one after another, if none
    stops early; ``unknown`` of which nothing is; ``megabytes`` to download."""

    runs: int
    seconds: float
    unknown: int
    megabytes: float

    def __str__(self) -> str:
        parts = [f"{self.runs} run{'s' * (self.runs != 1)} to do"]
        if self.runs > self.unknown:
            parts.append(f"about {_time(self.seconds)} on a CPU, one after another")
        if self.unknown:
            parts.append(f"{self.unknown} of unknown length")
        if self.megabytes:
            size = self.megabytes
            parts.append(f"{size / 1000:.1f} GB" if size >= 1000 else f"{size:.0f} MB")
            parts[-1] += " to download"
        return ", ".join(parts)


def estimate(specs: Iterable[RunSpec], finished: list[dict[str, Any]]) -> Estimate:
    """What these runs will cost, by the records of finished ones and the measured throughputs."""
    specs = list(specs)
    seconds = [expected_seconds(spec, finished) for spec in specs]
    known = [value for value in seconds if value is not None]
    return Estimate(
        len(specs), sum(known), len(seconds) - len(known), megabytes_to_fetch(unprepared(specs))
    )


def expected_seconds(spec: RunSpec, finished: list[dict[str, Any]]) -> float | None:
    """How long a run takes on a CPU if it does not stop early; None where nothing is known.

    Other seeds of the same settings tell it. Else it is the words to read in all planned epochs by
    the rate of recorded runs with the same vectors and sizes. Where there are none it is the slower
    of two rates: that measured at the papers' sizes, and that of the system's runs most like it.
    """
    settings = asdict(spec.settings())
    alike = [record for record in finished if record["spec"]["system"] == spec.system]
    same = [_seconds(record) for record in alike if _is_seed_of(record, spec, settings)]
    if same:
        return median(same)
    twins = [record for record in alike if _sizes(record) == _sizes({"settings": settings})]
    exact = [record for record in twins if _vectors(record) == _vectors({"settings": settings})]
    rates = [median(map(_rate, group)) for group in (exact or twins or alike,) if group]
    if not exact:
        rates += measured_rates(spec)
    words = words_to_read(spec) * settings["training"].get("epochs", 1)
    return words / min(rates) if rates else None


def _is_seed_of(record: dict[str, Any], spec: RunSpec, settings: dict[str, Any]) -> bool:
    place = record["spec"]["dataset"], record["spec"]["limit"]
    return record["settings"] == settings and place == (spec.dataset, spec.limit)


def words_to_read(spec: RunSpec) -> float:
    """How many words of training texts an epoch reads, about."""
    text, sizes = spec.settings().text, card(spec.dataset).sizes
    rows = spec.limit or sum(sizes["train"])
    if "validation" not in sizes:
        rows *= 1 - text.validation_share
    return rows * min(words_per_text(spec.dataset), _cut(asdict(text)))


def words_per_text(dataset: str) -> float:
    """The mean number of words in the texts of a dataset."""
    if dataset in WORDS_PER_TEXT:
        return WORDS_PER_TEXT[dataset]
    if CUSTOM.fullmatch(dataset):
        return mean(map(len, load_corpus(dataset).splits["train"][:SAMPLED]["tokens"]))
    texts = sum(map(sum, CARDS[dataset].sizes.values()))
    return 1e6 * TEXT_MEGABYTES[dataset] / BYTES_PER_TOKEN / texts


def measured_rates(spec: RunSpec, folder: Path = BENCHMARKS) -> list[float]:
    """Words a second of the nearest size that ``benchmarks/throughput.py`` measured on a CPU."""
    name = MEASURED.get(f"{spec.system} {spec.preset}") or MEASURED.get(spec.system)
    path = folder / "throughput_cpu.json"
    if not name or not path.exists():
        return []
    return [json.loads(path.read_text())["figures"][name]["tokens_per_second"]["median"]]


def unprepared(specs: Iterable[RunSpec]) -> list[Card]:
    """The cards of corpora and vectors that runs need and that have not been prepared here."""
    specs = list(specs)
    corpora = {spec.dataset for spec in specs if not prepared_content(spec.dataset)}
    chosen = {name for spec in specs for name in spec.settings().text.vectors.split("+")}
    vectors = {
        name
        for name in chosen.intersection(names_of("vectors"))
        if not prepared_folder(CARDS[name]).exists()
    }
    return [entry for name in sorted(corpora | vectors) if (entry := card(name)).sources]


def megabytes_to_fetch(cards: Iterable[Card]) -> float:
    """What the files of these cards weigh that are neither in the cache nor in the mirror, each
    once; of several sources the first that a network can serve."""
    sizes: dict[str, int] = {}
    for entry in cards:
        if not any(all(map(at_hand, source.downloads)) for source in entry.sources):
            sizes |= {item.filename: item.size for item in first_online(entry).downloads}
    return sum(sizes.values()) / 1e6


def first_online(card: Card) -> Source:
    """The source of a card that a network is asked first."""
    return next(s for s in card.sources if all(d.url or d.requirement for d in s.downloads))


def _sizes(record: dict[str, Any]) -> dict[str, Any]:
    """What the model of a record counts, on which the time of a step depends."""
    model = record["settings"]["model"]
    return {name: value for name, value in model.items() if type(value) in (int, bool)}


def _vectors(record: dict[str, Any]) -> str:
    return record["settings"]["text"]["vectors"]


def _rate(record: dict[str, Any]) -> float:
    """Words a second of a recorded run, all that it did beside training included."""
    words = min(words_per_text(record["spec"]["dataset"]), _cut(record["settings"]["text"]))
    rows = record["sizes"]["train"] * len(record.get("epochs", [0]))
    return rows * words / _seconds(record)


def _seconds(record: dict[str, Any]) -> float:
    """What a run took. One that was resumed notes the time since then alone, and that of all its
    epochs."""
    return max(record["seconds"], sum(epoch["seconds"] for epoch in record.get("epochs", [])))


def _cut(text: dict[str, Any]) -> float:
    """How many words of a text are read at most."""
    return text["max_tokens"] or text["max_sentences"] * text["max_words"] or float("inf")


def _time(seconds: float) -> str:
    if seconds < 5400:
        return "a minute" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.0f} hours"
