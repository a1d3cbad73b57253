"""What the README quotes, each part between two markers that name it."""

import re
import statistics
from collections.abc import Callable
from pathlib import Path

from course_kit.research.report import frames
from course_kit.research.report.differences import UNDETECTED, difference, paper_cell
from course_kit.research.report.frames import Records, runs_of, shown, tidy
from course_kit.research.report.tables import steps_sweep
from course_lib.files import REPOSITORY, atomic_path


def short_table(records: Records = None) -> str:
    """Test accuracies in %: the paper's, ours, and TF-IDF's with logistic regression."""
    frame, rows = tidy(records), []
    for title, model, dataset, *preset in frames.COMPARISONS["short_table"]:
        ours = runs_of(frame, model, dataset, *preset)
        simple = shown(runs_of(frame, frames.PAIRS, dataset))  # one fit, which no seed changes
        simple = re.sub(r" \(1 seed(?:, (subset))?\)", r" (\1)", simple).removesuffix(" ()")
        named = title + ", film vectors" * len(preset)
        rows.append([named, paper_cell(model, dataset), shown(ours), simple])
    return frames.to_markdown(["network and text", "paper", "ours", "TF-IDF"], rows, "lr")


def findings(records: Records = None) -> str:
    """Three findings with their numbers, as a markdown list.

    Raises ``ValueError`` where the records no longer say what a sentence claims.
    """
    frame = tidy(records)
    han = runs_of(frame, "HAN, 25 × 50", "imdb", "compact")
    words = runs_of(frame, frames.PAIRS, "imdb")
    lead = difference(han, words)
    _require(lead.reading == UNDETECTED, "HAN and TF-IDF are level on IMDb")
    low = f"{100 * lead.low:.2f}".replace("-", "−")
    ours, simple = (100 * statistics.mean(map(frames.accuracy_of, g)) for g in (han, words))
    sanet = [run["attention"] for run in frames.seeds_of(frame, "sanet", "base", "ag_news")]
    trained, untrained, uniform = (
        100 * statistics.mean(attention[state][name] for attention in sanet)
        for state, name in (("trained", "diagonality 3"), ("untrained", "diagonality 3"),
                            ("trained", "uniform diagonality 3"))
    )  # fmt: skip
    by_chance = abs(trained - uniform) < 2 and untrained > trained
    _require(by_chance, "the band of AG is that of chance")
    (record,) = steps_sweep(0.1, ("iram", "vanilla"), "sst2", frame)[3]
    share = 100 * record["attention"]["trained"]["summary share, step 3"]
    _require(share > 90, "IRAM's third step passes on what a step before found")
    return (
        "- **A bag of words is hard to beat.** On IMDb HAN with vectors trained on film reviews is "
        f"right for {ours:.1f} % of the test reviews, and logistic regression on word pairs for "
        f"{simple:.1f} %. No difference is detected: the 95 % interval of HAN's lead reaches from "
        f"{low} to {100 * lead.high:.2f} points ({len(han)} seeds).\n"
        f"- **A pattern can be there before training.** On news items SANet puts {trained:.0f} % "
        f"of its attention within three words of the word that attends. Untrained it puts "
        f"{untrained:.0f} % there, and uniform attention {uniform:.0f} %.\n"
        "- **A penalty can be met by a trick.** IRAM is penalised when its steps look at the same "
        "words. With a strong penalty the third step no longer looks at words: "
        f"{share:.1f} % of its attention goes to what the steps before have written."
    )


def _require(claim: bool, words: str) -> None:
    if not claim:
        raise ValueError(f"the records no longer say that {words}: write that text anew")


TABLES: dict[str, Callable[[], str]] = {"findings": findings, "papers": short_table}
TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def write_readme(path: Path = REPOSITORY / "README.md") -> None:
    """Put the current parts between their markers; ``KeyError`` for an unknown one."""
    text = path.read_text(encoding="utf-8")
    new_text = TABLE.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}\n{match[3]}", text)
    with atomic_path(path) as temporary:
        temporary.write_text(new_text, encoding="utf-8")
