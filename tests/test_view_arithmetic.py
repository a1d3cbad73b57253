"""The views' JavaScript without a browser: its parts, their arithmetic, and what Python packs."""

import base64
import json
import re

import numpy as np
import pytest
from javascript import TESTS, passed

from course_lib.views.heatmap.encoding import LIVE_LEVELS, STATIC_LEVELS, deflate, quantise
from course_lib.views.heatmap.module import ARITHMETIC, FOLDER, PARTS, joined, module

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("part", ARITHMETIC)
def test_the_arithmetic_is_right(node, part):
    path = TESTS / f"{part}.test.mjs"
    written = len(re.findall(r"^test\(", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert passed(node, path) == written > 0


def test_javascript_gives_back_what_python_packed(node, tmp_path):
    random = np.random.default_rng(0)
    views = []
    for shape in [(1, 1, 1), (2, 5, 9), (6, 60, 60), (2, 500, 300)]:
        for levels in (LIVE_LEVELS, STATIC_LEVELS):
            weights = random.random(shape, np.float32) ** 4 * np.float32(0.7)
            spec = {"shape": shape, "levels": levels, "peak": float(weights.max())}
            data, raw = deflate(quantise(weights, levels)), weights.astype("<f4").tobytes()
            views.append(
                {
                    "name": f"{shape} in {levels} levels, {data[0]} low bits",
                    "spec": spec,
                    "data": base64.b64encode(data).decode(),
                    "weights": base64.b64encode(raw).decode(),
                }
            )
    assert {view["name"][-10] for view in views} >= {"5", "8"}, "several ways of packing"
    packed = tmp_path / "packed.json"
    packed.write_text(json.dumps(views))
    assert passed(node, TESTS / "packed.test.mjs", COURSE_PACKED=str(packed)) == len(views)


def sources():
    return {part: (FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in PARTS}


def test_every_part_is_joined_once_and_imports_only_from_parts_before_it():
    assert sorted(PARTS) == sorted(path.stem for path in FOLDER.glob("*.js"))
    exported = {part: EXPORT.findall(source) for part, source in sources().items()}
    for place, (part, source) in enumerate(sources().items()):
        for names, other in IMPORT.findall(source):
            assert other in PARTS[:place], f"{part} imports {other}, which comes later"
            assert set(re.findall(r"\w+", names)) <= set(exported[other])


def test_the_joined_module_loads_and_offers_what_anywidget_calls(node, tmp_path):
    path = tmp_path / "module.mjs"
    path.write_text(module(), encoding="utf-8")
    script = (
        f"import({json.dumps(path.as_uri())}).then((m) => console.log(typeof m.default.render))"
    )
    done = node("--input-type=module", "--eval", script)
    assert done.stdout.strip() == "function", done.stdout
    assert "render" not in EXPORT.findall(module())  # anywidget warns of the older way in


def test_joining_touches_nothing_but_the_imports_a_part_begins_with():
    rest = 'const text = `\nimport { first } from "./one.js";\n`; // import { a } from "./b.js";\n'
    imports = 'import { first } from "./one.js";\nimport {\n  second,\n} from "./two.js";\n'
    assert joined(["const one = 1;\n", imports + rest]) == "const one = 1;\n\n" + rest
