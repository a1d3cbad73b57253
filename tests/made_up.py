"""Records of runs that nobody made, as far as the report reads them."""

from dataclasses import asdict

import datasets
import torch
from torch.nn.functional import one_hot

from course_lib.metrics import Predictions
from course_lib.runs import records
from course_lib.runs.predictions import write_predictions
from course_lib.runs.spec import RunSpec


def made_up(
    system,
    dataset,
    preset,
    accuracy=0.8,
    *,
    seed=0,
    limit=None,
    test=True,
    changes=None,
    texts=1821,
    subset=False,
    content="",
    validation=0.5,
    right=None,
    **more,
):
    """A record of a run with these ``changes`` of its preset; ``right``, bool ``(texts,)``, are
    predictions that it publishes."""
    spec = RunSpec(system, dataset, preset, changes or {}, seed=seed, limit=limit, test=test)
    plan = spec.resolve()
    if right is not None:
        texts, accuracy = len(right), right.mean()
    record = {
        "version": records.VERSION,
        "id": plan.id,
        "spec": asdict(plan.spec),
        "settings": asdict(plan.settings),
        "data": {"content": content, "subset": subset},
        "sizes": {"train": 1000, "validation": 872, "test": texts},
        "epochs": [{"validation_accuracy": share, "seconds": 11.0} for share in (0.1, validation)],
        "best_epoch": 2,
        "share_of_words_kept": 0.47,
    }
    record["vectors"] = [
        {"name": name, "width": 7} for name in record["settings"]["text"]["vectors"].split("+")
    ]
    if test:
        record["test"] = {"accuracy": accuracy, "f1": 0.8, "auc": 0.9}
    if right is not None:
        labels = torch.arange(texts) % 2
        classes = torch.where(torch.as_tensor(right), labels, 1 - labels)
        rows = {"text": [f"{content} {n}" for n in range(texts)], "label": labels.tolist()}
        record["predictions"] = write_predictions(
            records.published_predictions(plan.id),
            Predictions(one_hot(classes, 2), labels),
            datasets.Dataset.from_dict(rows),
        )
    return record | more


def cells(table, start):
    """The cells of the only row that begins so, but for its first."""
    (found,) = (line for line in table.splitlines() if line.startswith(start))
    return [cell.strip() for cell in found.strip("|").split(" | ")][1:]
