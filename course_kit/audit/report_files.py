"""Name the files of an audit's report, and check that they are free. Nothing here imports torch."""

from pathlib import Path

from course_lib.files import check_free

# text near the beginning of each report, by which we know it for ours
MARKS = {".json": '{\n "headline": ', ".html": 'content="attention-course audit"'}


def report_files(path: Path, replace: bool = True) -> list[Path]:
    """Return the files of a report saved as ``path``: free, or earlier reports to be replaced.

    Raises
    ------
    ValueError: the name ends neither in .html nor in .json
    DataError: another file is in the way
    """
    if path.suffix not in MARKS:
        raise ValueError(f"{path}: a report is written as .html or .json")
    files = [*dict.fromkeys([path.with_suffix(".json"), path])]
    advice = "" if replace else " by --to; --force replaces an earlier report"
    for file in files:
        check_free(file, MARKS[file.suffix] if replace else "", advice)
    return files
