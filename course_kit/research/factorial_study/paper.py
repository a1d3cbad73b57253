"""The study's tables, and the paper written from its template: every number comes from records."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from course_kit.research.factorial_study import analysis, design, exploratory
from course_kit.research.factorial_study.design import rows_path
from course_kit.research.report.template import fill, interval, p_value, signed, table

TEMPLATE, PAPER = (design.HERE / name for name in ("paper.md.in", "paper.md"))
ENCODERS = {
    "projected": "projected words",
    "bilstm": "BiLSTM",
    "transformer": "Transformer",
    "minilm": "MiniLM",
}
CORPORA = {"sst2_sentences": "SST-2", "ag_news": "AG News", "imdb": "IMDb"}
ATTENTIONS = {
    "additive": "softmax, additive",
    "dot": "softmax, dot",
    "entmax15": "entmax 1.5",
    "sparsemax": "sparsemax",
}
MEASURES = {
    "comprehensiveness": "comprehensiveness",
    "sufficiency": "sufficiency",
    "tau": "rank agreement",
    "comprehensiveness, raw": "comprehensiveness, not normalised",
    "sufficiency, raw": "sufficiency, not normalised",
    "comprehensiveness, masking": "comprehensiveness by masking",
    "comprehensiveness, mean vector": "comprehensiveness by the mean vector",
}


def write(path: Path = PAPER) -> Path:
    """Fill the template; a name that it uses and nobody defines is an error."""
    tables = (predictions, by_encoder, same_truth, accuracies, means, planted_settings, satellite)
    tables += (other_measures, with_fixed_levels, by_corpus, random_levels, encoders_from_random)
    names = dict(
        analysis=analysis,
        exploratory=exploratory,
        records=list(analysis.records().values()),
        cells=design.cells(),
        blocks=analysis.rows().groupby(analysis.GROUP)["seed"].nunique().to_dict(),
        fixed=analysis.results(mean=analysis.fixed).set_index("test").to_dict("index"),
        tests=analysis.results().set_index("test").to_dict("index"),
        encoders=ENCODERS,
        measures=MEASURES,
        planned=planned,
        interval=interval,
        signed=signed,
        p_value=p_value,
        **{each.__name__: each for each in tables},
    )
    path.write_text(fill(TEMPLATE, names), encoding="utf-8")
    return path


def planned() -> str:
    """The questions and predictions in the plan's own words: its table."""
    section = design.PLAN.read_text(encoding="utf-8").split("## Questions and predictions")[1]
    return "\n".join(line for line in section.split("\n##")[0].splitlines() if line[:1] == "|")


def predictions(measure: str = analysis.PRIMARY) -> str:
    """Each prediction of the plan and what became of it."""
    found = analysis.results(measure)
    digits = np.where(found["predicted"] == analysis.BELOW, 3, 2)
    rows = [
        [
            row.test,
            row.question,
            row.predicted,
            f"{row.value:.{n}f}",
            interval(row.low, row.high, n),
            *(p_value(p) for p in (row.p, row.holm, row.planned_holm)),
            row.verdict,
        ]
        for n, row in zip(digits, found.rename(columns=lambda c: c.replace(" ", "_")).itertuples())
    ]
    heads = ["effect", "question", "predicted", "value", "95 % interval", "p", "Holm's p"]
    return table(rows, [*heads, "Holm's p, plan's shuffling", "what came out"])


def with_fixed_levels() -> str:
    """The planned differences once more, with encoders and kinds of attention as fixed levels."""
    found = analysis.results(mean=analysis.fixed).set_index("test")
    rows = [
        [
            name,
            f"{row['value']:.3f}",
            interval(row["low"], row["high"], 3),
            p_value(row["p"]),
            p_value(row["holm"]),
        ]
        for name, row in found.loc[[test[0] for test in analysis.TESTS]].iterrows()
    ]
    return table(rows, ["effect", "value", "95 % interval", "p", "Holm's p"])


def other_measures() -> str:
    """The planned effects by the other measures and removals, each with Holm's p of its own."""
    names = ["sufficiency", "tau", *(n for n in MEASURES if n.endswith(("masking", "vector")))]
    found = {name: analysis.results(name).set_index("test") for name in names}
    rows = [
        [
            test,
            *(
                f"{one.value[test]:.2f} ({interval(one.low[test], one.high[test])}), "
                f"{p_value(one.holm[test])}"
                if test in one.index
                else "–"
                for one in found.values()
            ),
        ]
        for test in analysis.results()["test"]
    ]
    return table(rows, ["effect", *(MEASURES[name] for name in names)])


def by_encoder(measures: Sequence[str] = exploratory.AREAS) -> str:
    """What sparse attention adds to additive softmax over each encoder, and on their average."""
    columns = [(kind, measure) for measure in measures for kind in exploratory.SPARSE]
    found = [exploratory.by_encoder(kind, measure) for kind, measure in columns]
    rows = [[name, *(signed(each[key]) for each in found)] for key, name in ENCODERS.items()]
    total = exploratory.rows()
    over = [analysis.levels("attention", k, exploratory.USUAL, total, m) for k, m in columns]
    drawn = [exploratory.of_means(one.value for one in each.values()) for each in found]
    rows.append(["mean of these four", *map(signed, over)])
    rows.append(["mean of encoders like these", *map(signed, drawn)])
    heads = [f"{ATTENTIONS[kind]}, {measure}" for kind, measure in columns]
    return table(rows, ["encoder", *heads])


def by_corpus(attention: str = "sparsemax") -> str:
    """What a kind of attention adds to additive softmax in each corpus, over each encoder, and how
    much more over the BiLSTM than over the Transformer."""
    found = [exploratory.by_encoder(attention, corpora=[corpus]) for corpus in CORPORA]
    rows = [[name, *(signed(each[key]) for each in found)] for key, name in ENCODERS.items()]
    crossing = [
        exploratory.interaction(attention, "bilstm", "transformer", corpora=[c]) for c in CORPORA
    ]
    rows.append(["BiLSTM − Transformer", *map(signed, crossing)])
    return table(rows, ["encoder", *CORPORA.values()])


def random_levels() -> str:
    """Where a random ranking lies, by encoder and attention."""
    columns = [(measure, kind) for measure in exploratory.AREAS for kind in ATTENTIONS]
    level = {measure: exploratory.random_level(measure) for measure in exploratory.AREAS}
    rows = [
        [name, *(float(level[m][key, k]) for m, k in columns)] for key, name in ENCODERS.items()
    ]
    return table(rows, ["encoder", *(f"{ATTENTIONS[kind]}, {m}" for m, kind in columns)])


def encoders_from_random() -> str:
    """Projected words minus each other encoder, on the plan's scale and from a random ranking."""
    ends = ("", exploratory.FROM_RANDOM)
    columns = [measure + end for measure in exploratory.AREAS for end in ends]
    rows = [
        [
            f"projected − {name}",
            *(
                signed(analysis.levels("encoder", "projected", key, exploratory.rows(), m))
                for m in columns
            ),
        ]
        for key, name in list(ENCODERS.items())[1:]
    ]
    return table(rows, ["effect", *columns])


def same_truth(measure: str = analysis.PRIMARY) -> str:
    """The measure on planted texts in which the deciding word is first, and the differences in
    texts in which it is first for both, with the number of these texts."""
    first = exploratory.found_first(measure)["mean"]
    kinds = (*exploratory.SPARSE, "dot")
    both = {kind: exploratory.found_first_by_both(kind, measure) for kind in kinds}
    rows = [
        [
            name,
            *(float(first[key, kind]) for kind in ATTENTIONS),
            *(
                f"{signed(both[kind][key])}; {exploratory.texts_found_first_by_both(kind, key)[0]}"
                for kind in kinds
            ),
        ]
        for key, name in ENCODERS.items()
    ]
    gaps = [f"{ATTENTIONS[kind]} − additive; texts" for kind in kinds]
    return table(rows, ["encoder", *ATTENTIONS.values(), *gaps])


def accuracies() -> str:
    """Accuracy in percent by encoder and attention, and what sparse attention costs."""
    every = analysis.rows().groupby([*analysis.BLOCK, "attention"])["accuracy"].first()
    mean = every.groupby(["encoder", "attention"]).mean()
    costs = [exploratory.accuracy_by_encoder(kind) for kind in exploratory.SPARSE]
    kinds = {"uniform": "uniform"} | ATTENTIONS
    rows = [
        [
            name,
            *(f"{100 * mean[key, kind]:.1f}" for kind in kinds),
            *(signed(cost[key], 100, 1) for cost in costs),
        ]
        for key, name in ENCODERS.items()
    ]
    gaps = [f"{ATTENTIONS[kind]} − additive" for kind in exploratory.SPARSE]
    return table(rows, ["encoder", *kinds.values(), *gaps])


def means(factor: str) -> str:
    """Means over networks with learned attention, by the levels of a factor."""
    columns = ["comprehensiveness", "accuracy", "gain", "concentration", "contextuality"]
    found = analysis.networks().groupby(factor)[columns].mean()
    names = ENCODERS if factor == "encoder" else ATTENTIONS
    rows = [[name, *found.loc[key].tolist()] for key, name in names.items()]
    return table(rows, [factor, *columns[:2], "gain over uniform", *columns[3:]])


def planted_settings() -> str:
    """Truth and measures by setting of the planted corpus."""
    found = analysis.planted().query("attention != 'uniform'").groupby(["encoder", "attention"])
    columns = ["truth", "comprehensiveness", "sufficiency", "tau"]
    mean = found[columns].mean()
    rows = [
        [name, title, *mean.loc[key, kind].tolist()]
        for key, name in ENCODERS.items()
        for kind, title in ATTENTIONS.items()
    ]
    return table(rows, ["encoder", "attention", *columns[:3], "rank agreement"])


def satellite() -> str:
    """What a quarter of the temperature adds to ``PRIMARY`` on SST-2, over each encoder."""
    each = pd.read_parquet(rows_path("sst2_sentences")).groupby("encoder")
    rows = [
        [
            name,
            signed(
                analysis.levels(
                    "attention", "sharp", "additive", each.get_group(key), analysis.PRIMARY
                )
            ),
        ]
        for key, name in ENCODERS.items()
    ]
    return table(rows, ["encoder", "change of comprehensiveness"])
