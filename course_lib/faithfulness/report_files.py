"""The files of an audit's report. Nothing here imports torch."""

from pathlib import Path

from course_lib.files import check_free

# what the beginning of a report's file holds, by which we know it for ours
MARKS = {".json": '{\n "headline": ', ".html": 'content="attention-course audit"'}


def report_files(path: Path, replace: bool = True) -> list[Path]:
    """The files of a report that is saved as ``path``, which are free, or earlier reports to be
    replaced. ``ValueError`` for another form than .html or .json, ``DataError`` for a file in the
    way."""
    if path.suffix not in MARKS:
        raise ValueError(f"{path}: a report is written as .html or .json")
    files = [*dict.fromkeys([path.with_suffix(".json"), path])]
    advice = "" if replace else " by --to; --force replaces an earlier report"
    for file in files:
        check_free(file, MARKS[file.suffix] if replace else "", advice)
    return files
