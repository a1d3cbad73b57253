"""``python -m course_lib.experiments.report``: the README's tables, written from the records."""

from course_lib.experiments.report.readme import TABLES, write_readme

if __name__ == "__main__":
    write_readme()
    for name, table in TABLES.items():
        print(f"{name}\n{table()}\n")
