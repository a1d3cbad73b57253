"""Which small errors in the code do the tests notice? The list is ``benchmarks/mutants.json``.

    pytest -m "not full" --cov --cov-context=test --junitxml=times.xml      # needs pytest-cov
    python benchmarks/mutants.py times.xml

Each mutant is one line before and after, drawn at random (seed 30) from all changes of an operator,
a number, a condition, a result or a call in models, metrics, training, faithfulness, runs, the
checkers' engine and the reading room's JavaScript. They are made one at a time in this work tree,
which is left as it was; the tests that reach the line run, the fastest first, until one fails. A
mutant whose line is no longer in the file is ``gone``. In November 2026, 51 were: in the place of
each came one drawn with the same seed from all such changes in the files of its group; where the
line stands in another file now, the mutant follows it.
"""

import argparse
import json
import os
import signal
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tqdm.auto import tqdm

BUDGET = 40.0  # seconds of tests a mutant
ROOT = Path(__file__).resolve().parents[1]
ROOM_PARTS = ("room_networks", "room_tokens", "room_page", "room_bundle", "view_arithmetic")
ROOM_TESTS = [f"tests/test_{part}.py" for part in ROOM_PARTS]
PRELOADED = ("torch", "scipy.stats", "sklearn", "pandas", "matplotlib.pyplot", "hypothesis")
Selection = Callable[[str, int], list[str]]


def selection(coverage: str, times: str) -> Selection:
    """The tests that reach a line of a file, the fastest first, as many as ``BUDGET`` seconds
    hold; for a line that runs on import, those that reach the file."""
    from coverage import CoverageData

    cases = ElementTree.parse(times).iter("testcase")
    seconds = {
        f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}": float(case.get("time"))
        for case in cases
    }
    data = CoverageData(coverage)
    data.read()

    def tests_of(file: str, line: int) -> list[str]:
        path = next((path for path in data.measured_files() if path.endswith(f"/{file}")), file)
        contexts = data.contexts_by_lineno(path)
        everywhere = {context for reached in contexts.values() for context in reached}
        reached = set(contexts.get(line, ())) - {""} or everywhere - {""}
        tests = {context.split("|")[0] for context in reached}
        picked, spent = [], 0.0
        for test in sorted(tests, key=lambda name: (seconds.get(name, 9.0), name)):
            spent += seconds.get(test, 9.0) + 0.02
            if picked and spent > BUDGET:
                break
            picked.append(test)
        return picked

    return tests_of


def outcome(tests: list[str], seconds: float) -> str:
    """``killed``, ``survived`` or ``timeout`` of pytest in a fork, which has torch already."""
    child = os.fork()
    if child == 0:
        os.setsid()
        for output in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        os._exit(int(import_module("pytest").main([*options, *tests])))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "killed" if status else "survived"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def attempt(mutant: dict, tests_of: Selection) -> str:
    """What the tests say of one mutant; the file is as before when this returns."""
    path = ROOT / mutant["file"]
    original = path.read_bytes() if path.exists() else b""
    lines = original.decode().split("\n")
    places = [number for number, line in enumerate(lines) if line == mutant["before"]]
    if not places:
        return "gone"
    place = min(places, key=lambda number: abs(number + 1 - mutant["line"]))
    tests = ROOM_TESTS if mutant["group"] == "room" else tests_of(mutant["file"], place + 1)
    if not tests:
        return "unreached"
    lines[place] = mutant["after"]
    try:
        path.write_text("\n".join(lines))
        return outcome(tests, 3 * BUDGET + 30)
    finally:
        path.write_bytes(original)


def main() -> None:
    """Try the mutants that have no result yet; each result is written at once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("times", help="pytest's junitxml")
    parser.add_argument("--coverage", default=".coverage")
    parser.add_argument("--out", type=Path, default=ROOT / "runs/mutants.json")
    parser.add_argument("--groups", nargs="+", help="only these")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for module in PRELOADED:
        import_module(module)
    tests_of = selection(chosen.coverage, chosen.times)
    mutants = json.loads((ROOT / "benchmarks/mutants.json").read_text())
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    groups = chosen.groups or {mutant["group"] for mutant in mutants}
    for number, mutant in enumerate(tqdm(mutants, unit=" mutants")):
        if str(number) not in results and mutant["group"] in groups:
            results[str(number)] = attempt(mutant, tests_of)
            chosen.out.parent.mkdir(exist_ok=True)
            chosen.out.write_text(json.dumps(results, indent=0))
    for group in dict.fromkeys(mutant["group"] for mutant in mutants):
        numbers = (number for number in results if mutants[int(number)]["group"] == group)
        print(f"{group:13}", dict(Counter(results[number] for number in numbers)))


if __name__ == "__main__":
    main()
