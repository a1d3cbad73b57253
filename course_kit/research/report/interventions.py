"""What recorded networks answer when their attention changes and their texts do not."""

from course_kit.research.faithfulness.erasure_record import INTERVENTIONS
from course_kit.research.faithfulness.faithfulness_run import study_path
from course_kit.research.report.faithfulness import Records, cell, faithfulness_records

NONE_YET = (
    "No attention has been changed yet: `attention-course faithfulness NAME --only interventions` "
    "does it."
)
HALVES = ("certain", "hesitant")


def interventions_records() -> Records:
    """The committed records of changed attention by the id of their network."""
    return faithfulness_records(study_path("", INTERVENTIONS).parent)


def interventions_table(records: Records | None = None) -> str:
    """Shuffled and adversarial attention of every network with 95 % intervals over texts, apart for
    the half of the texts of which it is more certain and the other half, and beside another seed
    of the same network, as a markdown table; a sentence where nothing is recorded."""
    records = interventions_records() if records is None else records
    if not records:
        return NONE_YET
    changed = [title for name in ("a shuffle changes", "the adversary's divergence")
               for title in (name, *HALVES)]  # fmt: skip
    heads = [*changed, "another seed's divergence", "another seed's τ", "conicity"]
    rows = [f"| network | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|"]
    for name, record in records.items():
        shuffled = record["permutation"]["change"]
        further = record["adversary"]["divergence"]
        seed = next(iter(record["other_seeds"].values()), {})
        cells = [part[half] for part in (shuffled, further) for half in ("all", *HALVES)]
        cells += [seed.get("divergence"), seed.get("kendall"), record["conicity"]]
        rows.append(f"| `{name}`, {record['texts']} texts | {' | '.join(map(cell, cells))} |")
    return "\n".join(rows)
