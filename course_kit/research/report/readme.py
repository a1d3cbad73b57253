"""What the README quotes, each part between two markers that name it."""

import re
import statistics
from collections.abc import Callable
from pathlib import Path

from course_kit.research.report import frames, named
from course_kit.research.report.claims import over_seeds, verdicts_table
from course_kit.research.report.differences import UNDETECTED, difference, paper_cell
from course_kit.research.report.frames import Records, runs_of, shown, tidy
from course_lib.files import REPOSITORY, atomic_path

PENALTY, STRONG = 0.0003, 0.1  # IRAM's γ in its paper, and one of our sweep


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
    accuracies = [list(map(frames.accuracy_of, group)) for group in (han, words)]
    seeds = over_seeds(*accuracies, {"above": 0.0})
    _require(seeds.low > 0 > lead.low, "HAN's lead is at the edge")
    ours, simple = (100 * statistics.mean(values) for values in accuracies)
    read = frames.study_records("vectors")["imdb-cbow-300d-s0"]["reviews"]["imdb_unlabelled"]
    before, after = (
        [100 * gini for gini in named.sparsity(frame, dataset="ag_news", state=state).values]
        for state in ("untrained", "trained")
    )
    divided = [named.divided_gap(frame, state=state) for state in ("untrained", "trained")]
    (one, two), (three, _) = ([100 * of.values[0], 100 * of.minus[0]] for of in divided)
    paper = frames.PAPERS["sanet_attention"]["ag_news"][0]
    _require(
        min(before) > paper > three and two > paper,
        "SANet's weights are sparser untrained than the paper's trained",
    )
    (strong,), weak, none = (
        [100 * share for share in named.on_summaries(frame, penalty=penalty).values]
        for penalty in (STRONG, PENALTY, 0.0)
    )
    _require(strong > 90 and max(weak) < 20, "IRAM passes a summary on at a strong penalty")
    return (
        "- **A bag of words is hard to beat.** On IMDb HAN is right for "
        f"{ours:.1f} % of the test reviews, and logistic regression on word pairs for {simple:.1f} "
        f"%. The lead of {100 * lead.value:.2f} points ({len(han)} seeds) has a 95 % interval of "
        f"{100 * seeds.low:.2f} to {100 * seeds.high:.2f} over seeds. Other test reviews would "
        f"move it further: with them the interval is {low} to {100 * lead.high:.2f}, which holds "
        f"0. And HAN's word vectors come from more text: {read:,} further reviews, and GloVe 6B.\n"
        "- **A pattern can be there before training.** How unequal are SANet's weights on news? "
        f"The paper reports a Gini coefficient of {paper:.1f} % after training. Ours has "
        f"{statistics.mean(before):.1f} % before any training and {frames.mean_std(after)} % after "
        f"it ({len(after)} seeds). Its scores are not divided by √d, and large scores make sharp "
        "weights: with that division alone changed, in one training on 5,000 film reviews, it is "
        f"{one:.0f} % instead of {two:.0f} % before training.\n"
        "- **A penalty can be met by a trick.** IRAM is penalised when its steps look at the same "
        f"words. At {STRONG / PENALTY:.0f} times the paper's penalty the third step no longer "
        f"looks at words: {strong:.1f} % of its attention goes to what the steps before have "
        f"written (one training, three epochs). At the paper's own {PENALTY} it is "
        f"{statistics.mean(weak):.0f} %, as without any penalty "
        f"({statistics.mean(none):.0f} %; {len(weak)} seeds each)."
    )


def _require(claim: bool, words: str) -> None:
    if not claim:
        raise ValueError(f"the records no longer say that {words}: write that text anew")


TABLES: dict[str, Callable[[], str]] = {
    "findings": findings,
    "papers": short_table,
    "verdicts": verdicts_table,
}
TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def write_readme(path: Path = REPOSITORY / "README.md") -> None:
    """Put the current parts between their markers; ``KeyError`` for an unknown one."""
    text = path.read_text(encoding="utf-8")
    new_text = TABLE.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}\n{match[3]}", text)
    with atomic_path(path) as temporary:
        temporary.write_text(new_text, encoding="utf-8")
