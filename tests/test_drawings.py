"""The committed drawings: shown as they are, with words for whoever cannot see them."""

import base64
import html
import json
import re

import pytest

from course_kit.publishing.lessons import lesson_paths, side_notes
from course_lib.views import drawings


@pytest.mark.parametrize("name", drawings.NAMES)
def test_a_drawing_is_shown_with_its_description_and_needs_nothing_else(name, monkeypatch):
    shown = []
    monkeypatch.setattr(drawings, "display", lambda bundle, raw: shown.append(bundle))
    drawings.show(name)
    (bundle,) = shown
    alt, data = re.fullmatch(
        r'<img alt="([^"<>]{60,})" src="data:image/svg\+xml;base64,(.*)">', bundle["text/html"]
    ).groups()
    source = (drawings.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert base64.b64decode(data).decode() == source
    assert f"<title>{bundle['text/plain']}</title>" in source
    assert html.unescape(alt) == bundle["text/plain"]
    assert not re.search(r"<script|<image|<text|@import|font-family|\bon\w+=", source)
    assert set(re.findall(r'href="(.)', source)) == {"#"}  # glyphs of its own
    used, held = (set(re.findall(p, source)) for p in (r'href="#([^"]+)"', r'\bid="([^"]+)"'))
    assert used <= held


def test_a_name_that_is_not_there_is_refused_and_lessons_use_all():
    with pytest.raises(ValueError, match="name is 'lstm'; it takes one of agt, gru_cell, "):
        drawings.show("lstm")
    sources = "".join(
        "".join(cell["source"])
        for path in (*lesson_paths(), *side_notes())
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    )
    assert set(re.findall(r'drawings\.show\("(\w+)"\)', sources)) == set(drawings.NAMES)
