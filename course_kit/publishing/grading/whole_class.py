"""Marks for a folder of submissions, learner by learner."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from course_kit.publishing.grading import marks
from course_kit.publishing.grading.plan import Task, all_tasks, places
from course_kit.publishing.grading.submissions import submissions
from course_kit.publishing.grading.table import Row, Table, earlier
from course_kit.publishing.students import read_notebook
from course_lib.files import DataError


def grade(folder: Path, seconds: int, isolated: bool = True) -> Iterator[Table]:
    """The table before anything is marked, and again after each learner. Its columns are the
    exercises of the lessons that anybody handed in."""
    tasks, found = all_tasks(), submissions(folder)
    lessons = {path: _lesson(path, tasks) for paths in found.values() for path in paths}
    asked = [task for task in tasks if task.lesson in lessons.values()]
    most = {task.column: task.points for task in asked}
    table = Table(most, {learner: Row() for learner in found})
    yield table
    for learner, paths in found.items():
        row, marked = Row(notes=[]), defaultdict(dict)
        for path in paths:
            print(f"{learner}: {path.name} …", flush=True)
            name = path.relative_to(folder).as_posix()
            if not lessons[path]:
                row.notes.append(f"{name} is no notebook with exercises of the course")
                continue
            mine = [task for task in tasks if task.lesson == lessons[path]]
            try:
                notebook = read_notebook(path)
                given = (notebook, mine, folder, seconds, isolated)
                marked[lessons[path]][name] = marks.mark(*given)
            except Exception as error:  # one submission never ends the marks of a class
                row.notes.append(f"{name} could not be marked ({type(error).__name__})")
        for lesson, files in marked.items():
            _add(row, [task for task in tasks if task.lesson == lesson], files)
        table.rows[learner] = row
        yield table


def _lesson(path: Path, tasks: list[Task]) -> str:
    """The lesson whose exercises most of a notebook's are; empty where there are none."""
    try:
        notebook = read_notebook(path)
    except (DataError, OSError):
        return ""
    found = Counter(task.lesson for task in tasks if any(places(notebook, task)))
    return found.most_common(1)[0][0] if found else ""


def _add(row: Row, tasks: list[Task], files: dict[str, marks.Marked]) -> None:
    """Add what a learner's files of one lesson earned; of each exercise the better answer counts,
    and of equal ones that of the file with more points."""
    names = sorted(files, key=lambda name: sum(files[name].points.values()), reverse=True)
    counted = defaultdict(list)
    for task in tasks:
        name = max(names, key=lambda name: files[name].points[task.id])
        counted[name].append(task.id)
        row.points[task.column] = files[name].points[task.id]
        row.tried |= {task.column for each in files.values() if task.id in each.tried}
    lesson = tasks[0].lesson[:2]
    for name, marked in files.items():
        from_file = f"{lesson} {name}:" if len(files) > 1 else lesson
        row.notes += [f"{from_file} {note}" for note in marked.notes]
    if len(counted) > 1:
        named = ", ".join(f"{name} ({', '.join(ids)})" for name, ids in counted.items())
        row.notes.append(f"{lesson} {len(files)} files; the better answers count: {named}")
    elif len(files) > 1:
        row.notes.append(f"{lesson} {len(files)} files; {names[0]} counts")


def command(options: argparse.Namespace) -> int:
    """Write the marks of a folder of submissions."""
    if kept := earlier(options.csv):
        options.csv.rename(kept)
        print(f"the earlier {options.csv} is {kept} now")
    for table in grade(options.folder, 60 * options.minutes, not options.without_isolation):
        table.write(options.csv)
    print(f"\n{table.summary()}\n\n{len(table.rows)} learners are in {options.csv}")
    return 0
