"""Where runs and their records lie, and what is there, by name.

Nothing here imports torch: a wrong name is told within a second.
"""

import glob
from pathlib import Path

from course_lib.checking import instead
from course_lib.files import REPOSITORY, DataError

RUNS = REPOSITORY / "runs"
RESULTS = REPOSITORY / "results"
RECORD = "record.json"


def run_folder(name: str | Path) -> Path:
    """The folder of a run as it is named from here, or from the repository, as ``attention-course
    run`` prints it, where only that holds a finished run."""
    here, there = Path(name), REPOSITORY / name
    return there if is_run(there) and not is_run(here) else here


def is_run(folder: Path) -> bool:
    """Whether a folder holds the record of a finished run."""
    return (folder / RECORD).exists()


def recorded_path(name: str) -> Path | None:
    """The file of the published record with that id; None if there is none."""
    return next((RESULTS / "runs").glob(f"*/*/{glob.escape(name)}.json"), None)


def weights_path(name: str) -> Path:
    """Where the weights of the run with that id are; the model card stands beside them."""
    return RESULTS / "weights" / f"{name}.safetensors"


def recorded_names() -> list[str]:
    """The ids of all runs whose weights are committed."""
    paths = sorted(weights_path("*").parent.glob("*.safetensors"))
    return [path.stem for path in paths if recorded_path(path.stem)]


def instead_of(name: str) -> str:
    """What to say after an unknown name of a recorded network: the nearest, and who lists all."""
    return f"{instead(name, recorded_names())}; attention-course networks lists them"


def check_finished(name: str | Path) -> None:
    """Raise ``DataError`` unless that is the folder of a finished run (see ``run_folder``)."""
    if not is_run(run_folder(name)):
        raise DataError(f"{name}: no finished run; attention-course run prints the folder of one")


def check_network(name: str) -> None:
    """Raise ``DataError`` unless ``name`` is the folder of a finished run, or the id of a recorded
    network."""
    if name in recorded_names():
        return
    if len(Path(name).parts) == 1 and not run_folder(name).is_dir():
        raise DataError(f"no recorded network {name!r}; {instead_of(name)}")
    check_finished(name)
