"""Which small errors in the code do the tests notice?

    pytest -m "not full" --cov --cov-context=test --junitxml=times.xml      # needs pytest-cov
    python benchmarks/mutants.py times.xml --seed 52 --count 300

A mutant is one small change in one line of Python: another comparison, operator or number, a
negated condition, a result or a call left out. About ``count`` are drawn at random over all
packages, in proportion to how many are possible, at least ``LEAST`` from each. They are made one
at a time in this work tree, which is left as it was. The tests that reach the line run, the fastest
first, until one fails. Results are written as they come; the same command goes on where it stopped.
"""

import argparse
import ast
import copy
import json
import os
import random
import signal
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from tqdm.auto import tqdm

BUDGET = 10.0  # seconds of tests a mutant
LEAST = 12  # mutants of a package
ROOT = Path(__file__).resolve().parents[1]
PRELOADED = ("torch", "scipy.stats", "sklearn", "pandas", "matplotlib.pyplot", "hypothesis")
Selection = Callable[[str, int], list[str]]
Mutant = dict[str, str | int]
OTHER = {  # by the class of an operator, the one that is put in its place
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may become: an expression or statement of another meaning."""
    new = copy.deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        new.ops[0] = OTHER[type(node.ops[0])]()
        yield new
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in OTHER:
        new.op = OTHER[type(node.op)]()
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield new.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        value = node.value
        yield ast.Constant(not value if value is True or value is False else value + 1)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(None)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    elif isinstance(node, ast.IfExp):
        new.body, new.orelse = node.orelse, node.body
        yield new


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations and decorators, and the conditions of ``if`` and ``while``."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _nodes(child)


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a file: its line before and after."""
    source = path.read_text(encoding="utf-8")
    lines, file, found = source.split("\n"), path.relative_to(ROOT), []
    package = ".".join(file.parts[:-1][:2])
    for node in _nodes(ast.parse(source)):
        if getattr(node, "lineno", None) != getattr(node, "end_lineno", 0):
            continue
        before = lines[node.lineno - 1].encode()
        for new in changes(node):
            text = ast.unparse(ast.fix_missing_locations(new))
            text = f"({text})" if isinstance(new, ast.expr) and len(text) > 3 else text
            cut = before[: node.col_offset] + text.encode() + before[node.end_col_offset :]
            after = cut.decode()
            if after != before.decode():
                change = {"before": before.decode(), "after": after}
                found.append(
                    {"package": package, "file": file.as_posix(), "line": node.lineno} | change
                )
    return found


def compiles(mutant: Mutant) -> bool:
    """Whether the file is still Python with the mutant in it; inside an f-string it may not be."""
    lines = (ROOT / mutant["file"]).read_text(encoding="utf-8").split("\n")
    lines[mutant["line"] - 1] = mutant["after"]
    try:
        compile("\n".join(lines), mutant["file"], "exec")
    except SyntaxError:
        return False
    return True


def draw(seed: int, count: int) -> list[Mutant]:
    """``count`` mutants of the library and the kit, in a random order."""
    source, lines = random.Random(seed), Counter()
    packages: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted(
        each for name in ("course_lib", "course_kit") for each in ROOT.glob(f"{name}/**/*.py")
    ):
        for mutant in mutants_of(path):
            packages[mutant["package"]].append(mutant)
            lines[mutant["package"]] += 1
    rest = count - LEAST * len(packages)
    chosen = []
    for package, found in packages.items():
        share = LEAST + round(rest * lines[package] / lines.total())
        source.shuffle(found)
        chosen += list(islice(filter(compiles, found), share))
    source.shuffle(chosen)
    return chosen


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


def attempt(mutant: Mutant, tests_of: Selection) -> str:
    """What the tests say of one mutant; the file is as before when this returns."""
    path = ROOT / mutant["file"]
    original = path.read_bytes()
    lines = original.decode().split("\n")
    tests = tests_of(mutant["file"], mutant["line"])
    if not tests:
        return "unreached"
    lines[mutant["line"] - 1] = mutant["after"]
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--out", type=Path, default=ROOT / "runs/mutants.json")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    tqdm.set_lock(threading.RLock())  # the default is shared with forks, and a killed one keeps it
    for module in PRELOADED:
        import_module(module)
    tests_of = selection(chosen.coverage, chosen.times)
    mutants = json.loads(chosen.out.read_text()) if chosen.out.exists() else []
    mutants = mutants or draw(chosen.seed, chosen.count)
    chosen.out.parent.mkdir(exist_ok=True)
    for mutant in tqdm(mutants, unit=" mutants"):
        if "outcome" not in mutant:
            mutant["outcome"] = attempt(mutant, tests_of)
            chosen.out.write_text(json.dumps(mutants, indent=1, ensure_ascii=False))
    for package in sorted({mutant["package"] for mutant in mutants}):
        found = Counter(each["outcome"] for each in mutants if each["package"] == package)
        print(f"{package:24}", dict(found))


if __name__ == "__main__":
    main()
