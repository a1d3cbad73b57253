"""What each change of a setting buys, one at a time, on the validation texts alone."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import takewhile
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from course_kit.research.grid.groups import read_grid
from course_kit.research.report.records import caveats, spread
from course_lib.runs.records import flat_settings, kept_accuracy, load_records
from course_lib.runs.spec import RunSpec
from course_lib.views import plots


def changes_table(
    groups: Iterable[str],
    records: list[dict[str, Any]] | None = None,
    first: str | None = None,
) -> str:
    """The recorded runs of the grid's ``groups`` as a markdown table: what differs from the run
    with the id ``first`` (by default the groups' first), the kept epochs, the validation accuracy
    in % (mean ± standard deviation over seeds), and the difference to the first row.

    Runs that are not recorded are left out; without the first there is nothing to compare with and
    the table has no row. Below it stand the caveat of validation accuracies, and that runs were
    trained in bfloat16, where they were.
    """
    records = load_records() if records is None else records
    recorded = {record["id"]: record for record in records}
    grid = read_grid()
    specs = [spec for name in groups for spec in grid[name]]
    if first:
        specs.insert(0, {spec.id: spec for runs in grid.values() for spec in runs}[first])
    rows: dict[str, list[dict[str, Any]]] = {}  # the records of all seeds, by the change
    for spec in specs:
        found = rows.setdefault(_change(spec, specs[0]), [])
        found += [recorded[spec.id]] if spec.id in recorded else []
    (_, base), *_ = rows.items()
    rows = {change: found for change, found in rows.items() if base and found}
    head = "| change | seeds | kept epoch | validation, kept epoch | points |"
    lines = [_row(change, found, base) for change, found in rows.items()]
    shown = [record for found in rows.values() for record in found]
    return "\n".join([head, "|---|---:|---:|---:|---:|", *lines, "", caveats(shown)])


def _row(change: str, found: list[dict[str, Any]], base: list[dict[str, Any]]) -> str:
    shares = [kept_accuracy(record) for record in found]
    gain = 100 * (fmean(shares) - fmean(map(kept_accuracy, base)))
    epochs = ", ".join(str(record["best_epoch"]) for record in found)
    points = "–" if found is base else f"{gain:+.1f}"
    return f"| {change} | {len(found)} | {epochs} | {spread(shares, 100)} | {points} |"


# From the first record to the last, one change after the other: what is new, and the run with it.
# All of seed 0.
STEPS = {
    "HAN on IMDb": {
        "first record: 7 sentences × 30 words": "han-imdb-report-s0",
        "15 × 40": "han-imdb-report-max_sentences15-max_words40-notest-s0",
        "25 × 50": "han-imdb-long-s0",
        "film vectors in 100 numbers, frozen": "han-imdb-compact-s0",
    },
    "SANet on IMDb": {
        "first record: 256 words": "sanet-imdb-base-max_tokens256-epochs15-patience3-s0",
        "film vectors, frozen; scores / √d; 400 words; 20 epochs": "sanet-imdb-compact-s0",
    },
    "IRAM on IMDb": {
        "first record: 200 words, all parts": "iram-imdb-imdb-s0",
        "film vectors, frozen; 400 words; settings of the compact network": "iram-imdb-compact-"
        "max_tokens400-patience2-s0",
    },
    "IRAM vanilla on SST-2": {
        "first record": "iram-sst2-vanilla-s0",
        "film vectors beside GloVe's, dropout 0.3": "iram-sst2-vanilla-film-dropout0.3-81b336-"
        "notest-s0",
        "a zero vector for words without one": "iram-sst2-vanilla-film-else-zero-dropout0.3-"
        "3c2045-s0",
    },
    "AGT on SST-5": {
        "first record": "agt-sst5-paper-s0",
        "a patience of 10 epochs": "agt-sst5-paper-epochs40-patience10-notest-s0",
        "GloVe's vectors frozen": "agt-sst5-paper-frozen-epochs40-patience10-notest-s0",
        "film vectors beside GloVe's": "agt-sst5-paper-film-frozen-epochs40-patience10-notest-s0",
        "every word its vector, else zero; patience 4": "agt-sst5-paper-every-word-film-else-zero-"
        "frozen-s0",
    },
}


def waterfall_figure(records: list[dict[str, Any]] | None = None) -> Figure:
    """What each change of ``STEPS`` bought on the validation texts, as bars.

    A chain ends before its first run that is not recorded. The caveat of validation accuracies
    holds.
    """
    chains = recorded_steps(load_records() if records is None else records)
    return plots.waterfall(chains, "validation accuracy of the kept epoch, % (seed 0)")


def recorded_steps(records: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """``STEPS`` with the validation accuracies of their kept epochs, as far as each is recorded."""
    recorded = {run["id"]: kept_accuracy(run) for run in records if "epochs" in run}
    chains = {}
    for title, steps in STEPS.items():
        done = list(takewhile(lambda step: step[1] in recorded, steps.items()))
        if done:
            chains[title] = {change: recorded[run] for change, run in done}
    return chains


def _change(spec: RunSpec, first: RunSpec) -> str:
    """What differs from the first run: its system, preset or dataset, and every setting that either
    of the two changes; not the seed."""
    model, other = (spec.system, spec.preset), (first.system, first.preset)
    changed = [f"`{' '.join(model)}`"] if model != other else []
    changed += [f"`{spec.dataset}`"] if spec.dataset != first.dataset else []
    values, before = (flat_settings(asdict(run.settings())) for run in (spec, first))
    changed += [
        f"`{address}` = {values[address]}"
        for address in {**spec.overrides, **first.overrides}
        if address in values and values[address] != before.get(address)
    ]
    return ", ".join(changed) or "none"
