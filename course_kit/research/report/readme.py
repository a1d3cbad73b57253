"""What the README quotes, each part between two markers that name it."""

import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_kit.research.report.differences import MODELS, PAIRS, difference, paper_cell
from course_kit.research.report.records import (
    accuracy_of,
    holds,
    made_from,
    runs_of,
    seeds_of,
    spread,
    with_film_vectors,
)
from course_kit.research.report.sweeps import steps_sweep
from course_lib.files import REPOSITORY, atomic_path
from course_lib.runs.records import load_records

# The rows of the short table: what they are called, the model, and the dataset.
ROWS = (
    ("HAN, IMDb, cut to 7 × 30 words", "HAN, 7 × 30", "imdb"),
    ("HAN, IMDb, cut to 25 × 50 words", "HAN, 25 × 50", "imdb"),
    ("SANet base, AG news", "SANet base", "ag_news"),
    ("SANet base, IMDb", "SANet base", "imdb"),
    ("IRAM full, SST-2", "IRAM full", "sst2"),
    ("IRAM full, IMDb", "IRAM full", "imdb"),
    ("AGT, SST-5", "AGT", "sst5"),
)
# The same networks with vectors trained on film reviews: system, preset and dataset.
FILM_ROWS = (
    ("HAN, IMDb, 25 × 50", "HAN, 25 × 50", "han", "compact", "imdb"),
    ("SANet base, IMDb", "SANet base", "sanet", "compact", "imdb"),
    ("IRAM vanilla, SST-2", "IRAM vanilla", "iram", "vanilla", "sst2"),
    ("IRAM full, SST-2", "IRAM full", "iram", "full", "sst2"),
    ("IRAM vanilla, IMDb, 400 words", "IRAM vanilla", "iram", "compact", "imdb"),
    ("AGT, SST-5", "AGT", "agt", "paper", "sst5"),
)


def short_table(records: list[dict[str, Any]] | None = None) -> str:
    """Test accuracies in %: the paper's, ours, and TF-IDF's with logistic regression."""
    records = load_records() if records is None else records
    lines = ["| network and text | paper | ours | TF-IDF |", "|---|---:|---:|---:|"]
    rows = [(*row, runs_of(records, MODELS[row[1]], row[2])) for row in ROWS]
    for title, model, system, preset, dataset in FILM_ROWS:
        of_preset = seeds_of if preset == "compact" else with_film_vectors
        group = of_preset(records, system, preset, dataset)
        rows.append((f"{title}, film vectors", model, dataset, group))
    for title, model, dataset, ours in rows:
        cells = [paper_cell(model, dataset)]
        for group in (ours, runs_of(records, MODELS[PAIRS], dataset)):
            shares = [accuracy_of(record) for record in group]
            cells.append(f"{spread(shares, 100)} {made_from(group)}" if group else "–")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    alone = re.compile(r" \(1 seed(?:, (subset))?\) ")
    return alone.sub(lambda match: f" ({match[1]}) " if match[1] else " ", "\n".join(lines))


def findings(records: list[dict[str, Any]] | None = None) -> str:
    """Three findings with their numbers, as a markdown list.

    Raises ``ValueError`` where the records no longer say what a sentence claims.
    """
    records = load_records() if records is None else records
    return "\n".join(f"- {finding(records)}" for finding in (_simple, _untrained, _passes_on))


def _simple(records: list[dict[str, Any]]) -> str:
    han, words = (runs_of(records, MODELS[name], "imdb") for name in ("HAN, 25 × 50", PAIRS))
    gap = difference(han, words)
    holds(gap.reading == "not told apart", "HAN and TF-IDF are level on IMDb")
    filmed = seeds_of(records, "han", "compact", "imdb")
    film = difference(filmed, words)
    holds(film.reading == "better", "HAN with film vectors is ahead of TF-IDF")
    ours, simple = (100 * statistics.mean(map(accuracy_of, group)) for group in (han, words))
    low, high = (100 * bound for bound in film.interval)
    return (
        "**A bag of words is hard to beat.** On IMDb HAN with GloVe's vectors is right for "
        f"{ours:.1f} % of the test reviews, and logistic regression on word pairs for "
        f"{simple:.1f} %: the two cannot be told apart. With vectors trained on film reviews HAN "
        f"leads by {100 * film.value:.1f} points ({low:.1f} to {high:.1f}, {len(filmed)} seeds)."
    )


def _untrained(records: list[dict[str, Any]]) -> str:
    group = seeds_of(records, "sanet", "base", "ag_news")
    name = "diagonality 3"
    trained, untrained = (
        100 * statistics.mean(record["attention"][state][name] for record in group)
        for state in ("trained", "untrained")
    )
    uniform = 100 * group[0]["attention"]["trained"][f"uniform {name}"]
    holds(abs(trained - uniform) < 2 and untrained > trained, "the band of AG is that of chance")
    return (
        f"**A pattern can be there before training.** On news items SANet puts {trained:.0f} % of "
        f"its attention within three words of the word that attends. Untrained it puts "
        f"{untrained:.0f} % there, and uniform attention {uniform:.0f} %."
    )


def _passes_on(records: list[dict[str, Any]]) -> str:
    (record,) = steps_sweep(0.1, ("iram", "vanilla"), "sst2", records)[3]
    share = 100 * record["attention"]["trained"]["summary share, step 3"]
    holds(share > 90, "IRAM's third step passes on what a step before found")
    return (
        "**A penalty can be met by a trick.** IRAM is penalised when its steps look at the same "
        "words. With a strong penalty the third step no longer looks at words: "
        f"{share:.1f} % of its attention goes to what the steps before have written."
    )


TABLES: dict[str, Callable[[], str]] = {"findings": findings, "papers": short_table}
TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def write_readme(path: Path = REPOSITORY / "README.md") -> None:
    """Put the current parts between their markers; ``KeyError`` for an unknown one."""
    text = path.read_text(encoding="utf-8")
    new_text = TABLE.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}\n{match[3]}", text)
    with atomic_path(path) as temporary:
        temporary.write_text(new_text, encoding="utf-8")
