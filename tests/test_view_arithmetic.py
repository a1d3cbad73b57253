"""JavaScript of the views and the room without a browser: its parts, what they compute, and what
Python packs."""

import base64
import json
import re

import numpy as np
import pytest
from javascript import TESTS, passed

from course_kit.reading_room import script as engine
from course_kit.reading_room.page import assembly
from course_lib.javascript import ARITHMETIC, FOLDER, PARTS, joined, module
from course_lib.views.heatmap.encoding import LIVE_LEVELS, STATIC_LEVELS, deflate, quantise

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
DEFINED = re.compile(r"^(export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
FORBIDDEN = re.compile(  # what would make markup of a text, or ask a network for something
    r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|\bfetch\b|XMLHttpRequest"
    r"|import\s*\(|https?:|<!--|</script",
    re.IGNORECASE,
)
JOINED = {
    "views": (FOLDER, PARTS, module),
    "engine": (engine.FOLDER, engine.PARTS, engine.engine),
    "page": (assembly.FOLDER / "js", assembly.PARTS, assembly._script),
}


def exported(source):
    return [name for export, name in DEFINED.findall(source) if export]


@pytest.mark.parametrize("part", [*ARITHMETIC, "room_state", "room_render", "room_traced"])
def test_the_arithmetic_is_right(node, part):
    path = TESTS / f"{part}.test.mjs"
    written = len(re.findall(r"^test\(", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert passed(node, path) == written > 0


def test_javascript_gives_back_what_python_packed(node, tmp_path):
    random = np.random.default_rng(0)
    views = []
    for shape in [(1, 1), (5, 9), (60, 60), (1000, 300)]:
        for levels in (LIVE_LEVELS, STATIC_LEVELS):
            weights = random.random(shape, np.float32) ** 4 * np.float32(0.7)
            spec = {"shape": shape, "levels": levels, "peak": float(weights.max())}
            data, raw = deflate(quantise(weights, levels)), weights.astype("<f4").tobytes()
            packed, plain = (base64.b64encode(part).decode() for part in (data, raw))
            name = f"{shape} in {levels} levels, {data[0]} low bits"
            views.append({"name": name, "spec": spec, "data": packed, "weights": plain})
    assert {view["name"][-10] for view in views} >= {"5", "8"}, "several ways of packing"
    path = tmp_path / "packed.json"
    path.write_text(json.dumps(views))
    assert passed(node, TESTS / "packed.test.mjs", COURSE_PACKED=str(path)) == len(views)


@pytest.mark.parametrize(("folder", "parts", "script"), JOINED.values(), ids=JOINED)
def test_every_part_is_joined_once_after_those_it_imports_and_no_name_stands_twice(
    folder, parts, script
):
    sources = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}
    assert sorted(parts) == sorted(sources)
    for place, part in enumerate(parts):
        for names, other in IMPORT.findall(sources[part]):
            assert other in parts[:place], f"{part} imports {other}, which comes later"
            assert set(re.findall(r"\w+", names)) <= set(exported(sources[other]))
    defined = [name for _, name in DEFINED.findall(script())]
    assert len(defined) == len(set(defined)) > 50
    assert "\nimport " not in script() and not FORBIDDEN.search(script())


def test_the_joined_module_loads_and_offers_what_anywidget_calls(node, tmp_path):
    path = tmp_path / "module.mjs"
    path.write_text(module(), encoding="utf-8")
    address = json.dumps(path.as_uri())
    script = f"import({address}).then((m) => console.log(typeof m.default.render))"
    done = node("--input-type=module", "--eval", script)
    assert done.stdout.strip() == "function", done.stdout
    assert "render" not in exported(module())  # anywidget warns of the older way in


def test_joining_touches_nothing_but_the_imports_a_part_begins_with():
    rest = 'const text = `\nimport { first } from "./one.js";\n`; // import { a } from "./b.js";\n'
    imports = 'import { first } from "./one.js";\nimport {\n  second,\n} from "./two.js";\n'
    assert joined(["const one = 1;\n", imports + rest]) == "const one = 1;\n\n" + rest
