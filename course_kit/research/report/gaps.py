"""What stays open after every change: ours at first and now, beside the paper."""

from itertools import pairwise
from typing import Any, NamedTuple

from course_kit.research.report.changes import recorded_steps
from course_kit.research.report.differences import MODELS, NAMES, PAPERS, difference, paper_cell
from course_kit.research.report.records import (
    accuracy_of,
    made_from,
    runs_of,
    seeds_of,
    spread,
    with_film_vectors,
)
from course_lib.data.catalog import CARDS
from course_lib.runs.records import load_records


class Gap(NamedTuple):
    """A network of a paper, the preset of its best runs today, which read film vectors, and its
    ``STEPS``."""

    network: str
    dataset: str
    preset: str
    steps: str


GAPS = [
    Gap("IRAM full", "sst2", "full", "IRAM vanilla on SST-2"),
    Gap("IRAM full", "imdb", "compact", "IRAM on IMDb"),
    Gap("AGT", "sst5", "paper", "AGT on SST-5"),
    Gap("SANet base", "imdb", "compact", "SANet on IMDb"),
]


def gaps_table(records: list[dict[str, Any]] | None = None) -> str:
    """The test accuracies in % of ``GAPS`` at first and now as a markdown table, what is still
    missing to the paper's, and the step that brought most on the validation texts; "–" where a run
    is missing, or the paper names no figure."""
    records = load_records() if records is None else records
    chains = recorded_steps(records)
    rows = [
        "| network | dataset | paper | first record | now | now − first | now − paper "
        "| the step that brought most, on validation |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for gap in GAPS:
        before = runs_of(records, MODELS[gap.network], gap.dataset)
        now = _now(records, gap)
        paper = PAPERS.get(gap.network, {}).get(gap.dataset)
        of_paper = paper and (paper / 100, sum(CARDS[gap.dataset].sizes["test"]))
        cells = [
            NAMES[gap.dataset],
            paper_cell(gap.network, gap.dataset),
            *(_shown(group) for group in (before, now)),
            str(difference(now, before)) if now and before else "–",
            str(difference(now, of_paper)) if now and of_paper else "–",
            _largest_step(chains.get(gap.steps, {})),
        ]
        rows.append(f"| {' | '.join([gap.network, *cells])} |")
    return "\n".join(rows)


def _now(records: list[dict[str, Any]], gap: Gap) -> list[dict[str, Any]]:
    system, *_ = MODELS[gap.network]
    if gap.preset == "compact":  # which reads film vectors by itself
        return seeds_of(records, system, gap.preset, gap.dataset)
    return with_film_vectors(records, system, gap.preset, gap.dataset)


def _shown(group: list[dict[str, Any]]) -> str:
    shares = [accuracy_of(record) for record in group]
    return f"{spread(shares, 100)} {made_from(group)}" if group else "–"


def _largest_step(chain: dict[str, float]) -> str:
    gains = {words: 100 * (b - a) for (_, a), (words, b) in pairwise(chain.items())}
    if not gains:
        return "–"
    words = max(gains, key=gains.__getitem__)
    return f"{words}: {gains[words]:+.1f}"
