"""Names of the course that have moved, mended in notebooks that learners have written into."""

import re

import nbformat
from nbformat import NotebookNode

SANITY_CHECKS = "from course_kit.research import sanity_checks"
TRANSFORMER = "from course_kit.research import small_transformer"
FAITHFULNESS = "from course_lib import faithfulness"
METRICS = "from course_lib import metrics"
SIDE_NOTES = "from course_kit.research import side_notes"
STATISTICS = ("constant_loss", "detectable_difference", "mcnemar", "power")
# lessons whose files have another name today
LESSONS = {
    "07_is_attention_an_explanation.ipynb": "07_measuring_faithfulness.ipynb",
    "08_when_it_does_not_come_out.ipynb": "09_when_it_does_not_come_out.ipynb",
    "09_to_transformers.ipynb": "10_to_transformers.ipynb",
}
# what a copy calls, what it is today, and the import that this needs; the longer name first
NAMES = (
    ("teaching.show_progress", "publishing.show_progress", "from course_kit import publishing"),
    ("teaching.encoder_record", "small_transformer", TRANSFORMER),
    ("teaching.encoder", "small_transformer", TRANSFORMER),
    ("experiments.report", "report", "from course_kit.research import report"),
    *((f"report.{name}", f"metrics.{name}", METRICS) for name in STATISTICS),
    ("report.composition_test", "side_notes.composition_test", SIDE_NOTES),
    ("report.rise_and_fall", "side_notes.rise_and_fall", SIDE_NOTES),
    ("metrics.ranks.rank_correlation", "metrics.rank_correlation", METRICS),
    ("data.write_texts", "sanity_checks.write_texts", SANITY_CHECKS),
    ("data.encode_texts", "sanity_checks.encode_texts", SANITY_CHECKS),
    ("experiments.controls.steps.trial", "sanity_checks.train_pointer", SANITY_CHECKS),
    ("experiments.controls.networks", "sanity_checks", SANITY_CHECKS),
    ("experiments.controls", "sanity_checks", SANITY_CHECKS),
    ("experiments.DocumentModel", "faithfulness.DocumentModel", FAITHFULNESS),
    ("experiments.SYSTEMS", "runs.known_systems()", "from course_lib import runs"),
)
# what stands in a copy word for word, and what is written today
WORDS = (
    ("from course_lib.experiments import report", "from course_kit.research import report"),
    ("from course_lib.experiments.scheduler ", "from course_kit.research.grid.scheduler "),
    ("from course_lib.experiments.report", "from course_kit.research.report"),
    ("from course_lib.experiments", "from course_lib.runs"),
    ("from course_lib.teaching", "from course_kit.exercises"),
    ("from course_lib.views import layered, plots", "from course_lib.views import figures, plots"),
    ("figures.lines(", "views.lines("),
    ("views.figures.lines(", "views.lines("),
    ("layered.lines_over_layers(", "views.lines_over_layers("),
    ("layered.layer_bars(axis, shares, ", "axis.bar(range(len(shares)), shares, label="),
    ("layered.dictionary_panels(", "side_notes.dictionary_panels("),
    ("layered.distances(", "figures.distances("),
    ("layered.weight_histograms(", "side_notes.weight_histograms("),
    ("figures.histograms(panels, ", 'views.histograms(panels, 40, "gate", "", '),
    ("faithfulness.attention.", "faithfulness.word_attention."),
    ("report.faithfulness_records()", 'report.study_records("faithfulness")'),
    ("report.interventions_records()", 'report.study_records("interventions")'),
    ("report.sanity_records()", "report.study_records('sanity_checks')"),
)
# packages that were in course_lib: a copy goes on calling them by these names
PACKAGES = {
    "experiments": "from course_lib import runs as experiments",
    "teaching": "from course_kit import exercises as teaching",
}
IMPORT = re.compile(r"^from course_lib import (?=.*\b(?:experiments|teaching)\b)([\w, ]+)$", re.M)
RUN = re.compile(r"-room-s(?=[\d{])")  # the id of a recorded run
STACKED = re.compile(r"(\bheatmap_panels\([^=]*)\bstacked=True")


def mended(notebook: NotebookNode) -> NotebookNode | None:
    """The notebook with today's names in its code; None where it has no old ones."""
    made, needed = nbformat.from_dict(notebook), {}

    def imports(found: re.Match[str]) -> str:
        names = [name.strip() for name in found[1].split(",")]
        kept = ", ".join(name for name in names if name not in PACKAGES)
        moved = [PACKAGES[name] for name in names if name in PACKAGES]
        return "\n".join([*needed, *moved, *([f"from course_lib import {kept}"] if kept else [])])

    cells = [cell for cell in made.cells if cell.cell_type == "code"]
    for cell in cells:
        for old, new in WORDS:
            cell.source = _renamed(old, new, cell.source)[0]
        cell.source = STACKED.sub(r"\1across=1", RUN.sub("-compact-s", cell.source))
    if any(IMPORT.search(cell.source) for cell in cells):
        for cell in cells:
            for old, new, line in NAMES:
                cell.source, count = _renamed(old, new, cell.source)
                needed |= {line: None} if count else {}
        for cell in cells:
            cell.source = IMPORT.sub(imports, cell.source)
    return made if made != notebook else None


def _renamed(old: str, new: str, source: str) -> tuple[str, int]:
    """The source with another name where the old one stands whole, and how often it did."""
    whole = rf"(?<![\w.]){re.escape(old)}" + (r"\b" if old[-1].isalnum() else "")
    return re.subn(whole, lambda _: new, source)
