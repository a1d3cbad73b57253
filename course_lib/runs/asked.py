"""What is wrong with a command's arguments alone, told within a second: nothing here imports torch.

Each function raises ``DataError`` that names what was asked for, and what there is.
"""

import argparse
import ast
from importlib.metadata import entry_points
from pathlib import Path

from course_lib.checking import instead
from course_lib.data.catalog import names_of
from course_lib.data.naming import CUSTOM, DEFAULT, HUB
from course_lib.files import DataError
from course_lib.runs.folders import check_network

SYSTEMS = "attention_course.systems"  # entry points of other packages, by the name of the system
KEPT = ("corpus", "vectors", "network")  # the kinds of the catalog that are prepared by name


def system_names() -> list[str]:
    """The names of all systems that can be run: ours, each of which has a module, and others."""
    ours = Path(__file__).with_name("systems").glob("*_system.py")
    return sorted(
        {path.stem.removesuffix("_system") for path in ours} | entry_points(group=SYSTEMS).names
    )


def preset_names(system: str) -> list[str]:
    """The names of a system's presets, read from its module's text; none if it is not ours."""
    path = Path(__file__).with_name("systems") / f"{system}_system.py"
    tree = ast.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    given = (node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign))
    return [
        ast.literal_eval(key)
        for node in given
        if isinstance(node.target, ast.Name) and node.target.id == "presets"
        for key in node.value.keys
    ]


def check_run(options: argparse.Namespace) -> None:
    """``run`` needs a system that can be run, and texts that are there."""
    names = system_names()
    if not hasattr(options, "system"):
        raise DataError(f"run needs --system; there are: {', '.join(names)}")
    if options.system not in names:
        raise DataError(f"no system {options.system!r}; {instead(options.system, names)}")
    presets = preset_names(options.system)
    if hasattr(options, "preset") and presets and options.preset not in presets:
        known = instead(options.preset, presets)
        raise DataError(f"no preset {options.preset!r}; {known}")
    if hasattr(options, "dataset"):
        check_dataset(options.dataset, ("corpus",))
        if Path(options.dataset).is_file():
            columns = (options.text or DEFAULT.text, options.label or DEFAULT.label)
            check_table(Path(options.dataset), columns, options.encoding)


def check_table(path: Path, columns: tuple[str, ...], encoding: str | None) -> None:
    """A file has these columns, and its first row can be read."""
    from course_lib.data.tables import encoding_of, read_table

    next(read_table(path, columns, encoding_of(path, encoding)), None)


def check_dataset(value: str, kinds: tuple[str, ...] = KEPT) -> None:
    """A name of the catalog or of texts that are prepared, a dataset of the hub, or a file or
    folder that is there."""
    if not value:
        raise DataError("the name of the dataset is empty (an unset variable of the shell?)")
    names = sorted(name for kind in kinds for name in names_of(kind))
    if value in names or CUSTOM.fullmatch(value) or value.startswith(HUB) or Path(value).exists():
        return
    if Path(value).suffix:
        raise DataError(f"{value}: no such file of texts, and no dataset of that name")
    raise DataError(f"no dataset {value!r}; {instead(value, names)}")


def check_predict(options: argparse.Namespace) -> None:
    """``predict`` needs a network, and one text, or a file with a column and a place to write."""
    if isinstance(options.texts, str):
        if options.to or options.force or options.text is not None or options.encoding:
            what = "--to, --force, --text and --encoding are for a file of texts"
            raise DataError(f"{what}; the answer to one text is printed")
        check_network(options.run)
        return
    if options.text == "":
        raise DataError("--text needs a value, got an empty one")
    from course_lib.runs.predicted import check_target

    options.text = options.text or DEFAULT.text
    options.to = options.to or options.texts.with_name(f"{options.texts.name}.predictions.csv")
    check_target(options.to, options.force)
    check_network(options.run)
    check_table(options.texts, (options.text,), options.encoding)
