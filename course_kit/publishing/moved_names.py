"""Names of the course that have moved, mended in notebooks that learners have written into."""

import re

import nbformat
from nbformat import NotebookNode

SANITY_CHECKS = "from course_kit.research import sanity_checks"
TRANSFORMER = "from course_kit.research import small_transformer"
FAITHFULNESS = "from course_lib import faithfulness"
METRICS = "from course_lib import metrics"
STATISTICS = (
    *("composition_test", "constant_loss", "detectable_difference", "mcnemar", "power"),
    "rise_and_fall",
)
# what a copy calls, what it is today, and the import that this needs; the longer name first
NAMES = (
    ("teaching.show_progress", "publishing.show_progress", "from course_kit import publishing"),
    ("teaching.encoder_record", "small_transformer", TRANSFORMER),
    ("teaching.encoder", "small_transformer", TRANSFORMER),
    ("teaching", "exercises", "from course_kit import exercises"),
    ("experiments.report", "report", "from course_kit.research import report"),
    *((f"report.{name}", f"metrics.{name}", METRICS) for name in STATISTICS),
    ("metrics.ranks.rank_correlation", "metrics.rank_correlation", METRICS),
    ("data.write_texts", "sanity_checks.write_texts", SANITY_CHECKS),
    ("data.encode_texts", "sanity_checks.encode_texts", SANITY_CHECKS),
    ("experiments.controls.steps.trial", "sanity_checks.train_pointer", SANITY_CHECKS),
    ("experiments.controls.networks", "sanity_checks", SANITY_CHECKS),
    ("experiments.controls", "sanity_checks", SANITY_CHECKS),
    ("experiments.DocumentModel", "faithfulness.DocumentModel", FAITHFULNESS),
    ("experiments.SYSTEMS", "runs.known_systems()", "from course_lib import runs"),
    ("experiments", "runs", "from course_lib import runs"),
)
# modules as a copy writes them, and as they are written today
MODULES = (
    ("from course_lib.experiments import report", "from course_kit.research import report"),
    ("from course_lib.experiments.scheduler ", "from course_kit.research.grid.scheduler "),
    ("from course_lib.experiments.report", "from course_kit.research.report"),
    ("from course_lib.experiments", "from course_lib.runs"),
    ("from course_lib.teaching", "from course_kit.exercises"),
    ("from course_lib.views import layered, plots", "from course_lib.views import figures, plots"),
    ("figures.lines(", "views.lines("),
    ("layered.lines_over_layers(", "views.lines_over_layers("),
    ("layered.layer_bars(axis, shares, ", "axis.bar(range(len(shares)), shares, label="),
    ("layered.dictionary_panels(", "figures.dictionary_panels("),
    ("layered.distances(", "figures.distances("),
    ("layered.weight_histograms(", "figures.weight_histograms("),
    ("figures.histograms(panels, ", 'views.histograms(panels, 40, "gate", "", '),
    ("stacked=True", "across=1"),
    ("faithfulness.attention.", "faithfulness.word_attention."),
)
GONE = {"experiments", "teaching"}  # packages that there are no more in course_lib
IMPORT = re.compile(r"^from course_lib import (?=.*\b(?:experiments|teaching)\b)([\w, ]+)$", re.M)
RUN = re.compile(r"-room-s(?=[\d{])")  # the id of a recorded run
RUNS = ("experiments", "experiments", "from course_lib import runs as experiments")


def mended(notebook: NotebookNode) -> NotebookNode | None:
    """The notebook with today's names in its code; None where it has no old ones."""
    made, needed = nbformat.from_dict(notebook), {}

    def imports(found: re.Match[str]) -> str:
        kept = sorted({name.strip() for name in found[1].split(",")} - GONE)
        return "\n".join(
            [*needed, *(["from course_lib import " + ", ".join(kept)] if kept else [])]
        )

    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    for cell in cells:
        for old, new in MODULES:
            cell.source = cell.source.replace(old, new)
        cell.source = RUN.sub("-compact-s", cell.source)
    if any(IMPORT.search(cell.source) for cell in cells):
        # where a learner's notebook has a variable of this name, the package keeps its old one
        taken = any(re.search(r"(?<![\w.])runs\b", cell.source) for cell in cells)
        for cell in cells:
            for old, new, line in [*NAMES[:-2], RUNS] if taken else NAMES:
                end = r"\b" if "." in old else r"(?=\.\w)"
                cell.source, count = re.subn(rf"(?<![\w.]){re.escape(old)}{end}", new, cell.source)
                needed |= {line: None} if count else {}
        for cell in cells:
            cell.source = IMPORT.sub(imports, cell.source)
    return made if made != notebook else None
