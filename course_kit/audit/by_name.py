"""Audit a network by its name, on texts of a file: what ``attention-course audit`` does.

``attention-course audit NETWORK --texts reviews.csv``, where the network is a finished run or a
recorded one, a classifier of transformers (its folder, or owner/name), or ``file.py:function``, a
function that returns what ``audit`` takes. Without texts a run is audited on a random sample of its
test half.
"""

import argparse
import runpy
from typing import Any

import numpy as np

from course_kit.audit.adapters import HubModel
from course_kit.audit.asking import AuditError, told
from course_kit.audit.auditing import audit
from course_kit.audit.report_files import report_files
from course_kit.audit.run_models import RunModel, model_of
from course_lib.data.tables import encoding_of, read_table
from course_lib.runs.folders import is_run, recorded_names, run_folder
from course_lib.runs.weights import any_run

SAMPLE = 100  # test texts


def any_model(name: str) -> Any:
    """Find what ``audit`` takes by the name of a run, of a classifier of transformers, or
    ``file.py:function``; an ``AuditError`` says why there is none."""
    path, _, function = name.rpartition(":")
    if path.endswith(".py"):
        return _made(path, function)
    folder = run_folder(name)
    of_hub = (folder / "config.json").exists() and not (folder / "record.json").exists()
    if (folder.is_dir() and not of_hub) or name in recorded_names():  # or it is refused as no run
        return model_of(any_run(name), folder if is_run(folder) else None)
    try:
        return HubModel(name)
    except AuditError:
        raise
    except (OSError, ValueError) as error:
        why = f"no finished run, and no classifier of transformers: {str(error).splitlines()[0]}"
        raise AuditError(f"{name} is {why}") from error


def _made(path: str, function: str) -> Any:
    try:
        names = runpy.run_path(path)
        if function in names:
            return names[function]()
    except (Exception, SystemExit) as error:
        raise AuditError(f"{path}:{function} raised {told(error)}") from error
    raise AuditError(f"{path} has no function {function}")


def command(options: argparse.Namespace) -> int:
    """Audit a network, say what was found, and write it."""
    texts, labels = [], []
    if options.texts:
        columns = (options.text, *filter(None, [options.label]))
        encoding = encoding_of(options.texts, options.encoding)
        rows = [values for _, values in read_table(options.texts, columns, encoding)]
        texts, labels = [row[0] for row in rows], [row[1] for row in rows if options.label]
    model = any_model(options.network)
    if not options.texts and isinstance(model, RunModel):
        half = model.run.corpus.splits["test"]
        chosen = np.random.default_rng(0).permutation(len(half))[:SAMPLE]
        texts = list(half.select(chosen))
        labels = [model.classes[row["label"]] for row in texts]
    elif not options.texts:
        raise AuditError("only a run has texts of its own: name a file by --texts")
    report = audit(model, texts, labels or None, view=options.view, name=options.network)
    report.save(options.to)
    counts = report.counts
    if counts["stopped"]:
        print(f"Stopped after {counts['measured']} of {counts['given']} texts; these are kept.")
    print(report.headline, *(f"* {one.sentence}" for one in report.answers), sep="\n")
    others = "".join(f"; left out: {n} {why}" for why, n in counts["left_out"].items())
    files = " and ".join(map(str, reversed(report_files(options.to))))
    print(f"{files}: {counts['measured']} texts{others}")
    return 0
