"""What the README quotes, each part between two markers that name it."""

import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from course_kit.research.report.differences import difference, film_runs, paper_cell
from course_kit.research.report.frames import (
    COMPARISONS,
    PAIRS,
    Records,
    accuracy_of,
    require_claim,
    runs_of,
    seeds_of,
    shown,
    tidy,
    to_markdown,
)
from course_kit.research.report.sweeps import steps_sweep
from course_lib.files import REPOSITORY, atomic_path


def short_table(records: Records = None) -> str:
    """Test accuracies in %: the paper's, ours, and TF-IDF's with logistic regression."""
    frame, rows = tidy(records), []
    for title, model, dataset, *preset in COMPARISONS["short_table"]:
        ours = (
            film_runs(frame, model, *preset, dataset) if preset else runs_of(frame, model, dataset)
        )
        both = shown(ours), shown(runs_of(frame, PAIRS, dataset))
        rows.append([title + ", film vectors" * len(preset), paper_cell(model, dataset), *both])
    table = to_markdown(["network and text", "paper", "ours", "TF-IDF"], rows, "lr")
    alone = re.compile(r" \(1 seed(?:, (subset))?\) ")
    return alone.sub(lambda match: f" ({match[1]}) " if match[1] else " ", table)


def findings(records: Records = None) -> str:
    """Three findings with their numbers, as a markdown list.

    Raises ``ValueError`` where the records no longer say what a sentence claims.
    """
    frame = tidy(records)
    return "\n".join(f"- {finding(frame)}" for finding in (_simple, _untrained, _passes_on))


def _simple(frame: pd.DataFrame) -> str:
    han, words = (runs_of(frame, name, "imdb") for name in ("HAN, 25 × 50", PAIRS))
    level = difference(han, words).reading == "not told apart"
    require_claim(level, "HAN and TF-IDF are level on IMDb")
    filmed = film_runs(frame, "HAN, 25 × 50", "compact", "imdb")
    film = difference(filmed, words)
    require_claim(film.reading == "better", "HAN with film vectors is ahead of TF-IDF")
    ours, simple = (100 * statistics.mean(map(accuracy_of, group)) for group in (han, words))
    low, high = (100 * bound for bound in film.interval)
    return (
        "**A bag of words is hard to beat.** On IMDb HAN with GloVe's vectors is right for "
        f"{ours:.1f} % of the test reviews, and logistic regression on word pairs for "
        f"{simple:.1f} %: the two cannot be told apart. With vectors trained on film reviews HAN "
        f"leads by {100 * film.value:.1f} points ({low:.1f} to {high:.1f}, {len(filmed)} seeds)."
    )


def _untrained(frame: pd.DataFrame) -> str:
    group = seeds_of(frame, "sanet", "base", "ag_news")
    trained, untrained, uniform = (
        100 * statistics.mean(record["attention"][state][name] for record in group)
        for state, name in (("trained", "diagonality 3"), ("untrained", "diagonality 3"),
                            ("trained", "uniform diagonality 3"))
    )  # fmt: skip
    by_chance = abs(trained - uniform) < 2 and untrained > trained
    require_claim(by_chance, "the band of AG is that of chance")
    return (
        f"**A pattern can be there before training.** On news items SANet puts {trained:.0f} % of "
        f"its attention within three words of the word that attends. Untrained it puts "
        f"{untrained:.0f} % there, and uniform attention {uniform:.0f} %."
    )


def _passes_on(frame: pd.DataFrame) -> str:
    (record,) = steps_sweep(0.1, ("iram", "vanilla"), "sst2", frame)[3]
    share = 100 * record["attention"]["trained"]["summary share, step 3"]
    require_claim(share > 90, "IRAM's third step passes on what a step before found")
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
