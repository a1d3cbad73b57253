"""The model card of a recorded network: what it was made of, how good it is, and its limits."""

from typing import Any, NamedTuple

from course_lib.data.catalog import CARDS, Card, card
from course_lib.runs import records
from course_lib.runs.records import KEPT_EPOCH, kept_accuracy, published_record
from course_lib.runs.spec import RunSpec
from course_lib.runs.weights import DIGEST

CARD = """# Model card: `{id}`

A small network to read attention in, made for this course. Its record is [{id}.json](../{path});
`runs.load_recorded("{id}")` loads it.

| | |
|---|---|
{table}

{kept_epoch}
"In the run" means with its weights and its precision; this file was measured in float32 arithmetic.

## What it must not be used for

This is teaching material. Do not use it to decide anything about people, or to filter or rank what
they write. Do not use it on texts of another language or another kind than its data. It has not
been tested for how it treats names, groups of people or dialects. Its attention shows how the
network weighs words; that alone does not explain a prediction.

Its weights were learned from the data named above, so the terms of the data and of the vectors hold
for their use, too. The file holds numbers only: no texts and no vocabulary.
"""


class Measured(NamedTuple):
    """The float16 form beside its run on ``texts`` validation texts: its ``accuracy``, how many
    texts get another class (``changed``), and the largest ``difference`` of a logit. ``parameters``
    and ``bytes`` are the size of its file."""

    texts: int
    accuracy: float
    changed: int
    difference: float
    parameters: int
    bytes: int


def model_card(record: dict[str, Any], measured: Measured) -> str:
    """Markdown from a record that has the file's digest, the catalog's cards and what was
    measured."""
    rows = {
        "system": _system(record),
        **_data(record, card(record["spec"]["dataset"])),
        **_vectors(record),
        "validation accuracy": f"{kept_accuracy(record):.2%} in the run",
        "validation accuracy of this file": _in_float16(measured),
        "test accuracy": _tested(record),
        "file": f"{measured.parameters:,} parameters in float16, {measured.bytes:,} bytes, "
        f"`{record[DIGEST]}`",
    }
    table = "\n".join(f"| {name} | {value.replace('|', '/')} |" for name, value in rows.items())
    path = published_record(RunSpec(**record["spec"])).relative_to(records.RESULTS).as_posix()
    return CARD.format(id=record["id"], path=path, table=table, kept_epoch=KEPT_EPOCH)


def _system(record: dict[str, Any]) -> str:
    spec = record["spec"]
    changes = ", ".join(f"`{name}={value}`" for name, value in spec["overrides"].items())
    return (
        f"`{spec['system']}`, preset `{spec['preset']}`, seed {spec['seed']}"
        + (f", with {changes}" if changes else "")
        + f"; made at commit `{record['environment']['commit']}`"
    )


def _data(record: dict[str, Any], card: Card) -> dict[str, str]:
    sizes, data = record["sizes"], record["data"]
    part = ", a part of the dataset" if data["subset"] else ""
    return {
        "task": f"{card.task}: {', '.join(card.classes)}",
        "data": f"{card.title} (`{card.name}`), {sizes['train']:,} training texts{part}; source: "
        f"{data['source']}; sha256 of the rows `{data['content']}`",
        "terms of the data": card.terms,
        "cite": card.citation,
    }


def _vectors(record: dict[str, Any]) -> dict[str, str]:
    """Not in the file, but without them it is nothing."""
    cards = [(CARDS[about["name"]], about) for about in record["vectors"]]
    what = "network" if cards and cards[0][0].kind == "network" else "vectors"
    return {
        {"network": "pre-trained network", "vectors": "word vectors"}[what]: "; ".join(
            f"{card.title} (`{card.name}`), not trained further; sha256 "
            f"`{about.get('sha256') or about['weights'].removeprefix('sha256:')}`"
            for card, about in cards
        ),
        f"terms of the {what}": " · ".join(card.terms for card, _ in cards),
        f"cite for the {what}": " · ".join(card.citation for card, _ in cards),
    }


def _in_float16(measured: Measured) -> str:
    return (
        f"{measured.accuracy:.2%} of {measured.texts:,} texts; {measured.changed} of them get "
        "another class than with the run's weights in float32; the largest difference of a logit "
        f"is {measured.difference:.1g}"
    )


def _tested(record: dict[str, Any]) -> str:
    if "test" not in record:
        return "not measured: the run left the test half unread"
    return f"{record['test']['accuracy']:.2%} of {record['sizes']['test']:,} texts in the run"
