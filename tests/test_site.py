"""The site: executed lessons as pages that ask for nothing and run nothing that data hold."""

import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_lessons import PARAMETERS, PIXEL, notebook, write

from course_kit.publishing import contents, lessons, picture, site
from course_kit.publishing.site import build, hero
from course_kit.publishing.site.drawn_map import drawn_map
from course_lib.files import REPOSITORY
from course_lib.views.heatmap import AttentionHeatmap

ASSETS = Path(build.__file__).parent / "assets"
VIEW = """
from course_lib.views.heatmap import AttentionHeatmap
AttentionHeatmap([[1.0, 0.0], [0.25, 0.75]], ["a", "<b>"])
"""


def made_site(monkeypatch, tmp_path, *sources):
    """The folder of a site with these lessons."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name, value in {"SITE": folder, "EXECUTED": tmp_path / "executed"}.items():
        monkeypatch.setattr(build, name, value)
    monkeypatch.setattr(build, "pages", lambda: list(sources))
    return folder


def page_of(tmp_path, *cells, **neighbours):
    """The page of a lesson with these cells, parsed."""
    path = tmp_path / "lesson.html"
    site.export_html(write(notebook(*cells), tmp_path / "lesson.ipynb"), path, **neighbours)
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_a_view_is_a_page_on_the_site_and_a_picture_in_the_committed_notebook(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JPY_SESSION_NAME", "as if started from a notebook")
    source = write(notebook(PARAMETERS, new_code_cell(VIEW)), tmp_path / "01_view.ipynb")
    made_site(monkeypatch, tmp_path, source)
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path / "executed")
    (outcome,) = site.course("smoke")
    assert outcome.errors == []
    page = (tmp_path / "site" / "01_view.html").read_text(encoding="utf-8")
    assert "<iframe" in page and "srcdoc=" in page
    (outcome,) = lessons.publish_notebooks([source])
    assert outcome.errors == []
    (output,) = nbformat.read(source, as_version=4).cells[-1].outputs
    assert output.data.keys() == {"text/plain", "image/png"}
    assert len(output.data["image/png"]) < 150_000 * 4 / 3
    assert "COURSE_HEATMAP" not in os.environ


def test_a_lesson_that_cannot_start_leaves_no_earlier_page(tmp_path, monkeypatch):
    failed = lessons.Outcome("01_new", 0.0, ["no kernel"])
    source = write(notebook(new_markdown_cell("# 01 · New")), tmp_path / "01_new.ipynb")
    folder = made_site(monkeypatch, tmp_path, source)
    monkeypatch.setattr(build, "execute", lambda *arguments: failed)
    (folder / "01_new.html").write_text("of an earlier run")
    assert site.course("smoke") == [failed]
    assert not (folder / "01_new.html").exists()
    index = (folder / "index.html").read_text(encoding="utf-8")
    assert "New" in index and "01_new.html" not in index


def test_what_is_folded_stays_folded_on_the_site(tmp_path):
    fold = "<details><summary>Hint</summary>\n\n- **one**\n\n</details>\n\nafter"
    shown = "<details><summary>Hint</summary><strong>one</strong></details>after"
    output = new_output("display_data", {"text/html": shown})
    page = page_of(tmp_path, new_markdown_cell(fold), new_code_cell("x", outputs=[output]))
    folded = page.find("main").find_all("details")
    assert len(folded) == 2
    assert all(part.find("strong").text == "one" and "after" not in part.text for part in folded)


SOLVED = """def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION"""


def test_a_solution_is_folded_behind_what_learners_start_from(tmp_path):
    graded = {"grade": False, "grade_id": "e", "locked": False, "schema_version": 3}
    exercise = new_code_cell(SOLVED, metadata={"nbgrader": graded | {"solution": True}})
    locked = graded | {"grade": True, "grade_id": "e-check", "locked": True, "points": 1}
    check = new_code_cell("check(double)", metadata={"nbgrader": locked | {"solution": False}})
    page = page_of(tmp_path, new_markdown_cell("# 01 · Title"), exercise, check)
    (fold,) = page.find("main").find_all("details")
    assert fold.find("summary").text == "Solution: try it in JupyterLab first"
    assert "return 2 * x" in fold.text and not fold.has_attr("open")
    fold.extract()
    assert "2 * x" not in page.text and "YOUR CODE HERE" in page.text
    assert "check(double)" in page.text


def test_plumbing_is_folded_and_what_papermill_adds_is_left_out(tmp_path):
    injected = new_code_cell("profile = 'smoke'", metadata={"tags": ["injected-parameters"]})
    claim = new_code_cell("assert gain > 0", metadata={"tags": ["claim"]})
    long = new_code_cell("\n".join(f"a{i} = {i}" for i in range(26)))
    short = new_code_cell("\n".join(f"b{i} = {i}" for i in range(25)))
    cells = (PARAMETERS, injected, new_code_cell("import torch\n\nx = 1"), claim, long, short)
    main = page_of(tmp_path, *cells).find("main")
    assert [fold.find("summary").text for fold in main.find_all("details")] == [
        "Imports and settings",
        "Imports and settings",
        "The claims above, checked",
        "Code, 26 lines",
    ]
    for fold in main.find_all("details"):
        fold.extract()
    assert "smoke" not in main.text and "a1" not in main.text and "b24 = 24" in main.text


def test_an_output_has_no_number_and_no_message_of_this_machine(tmp_path):
    result = new_output("execute_result", {"text/plain": "0.25"}, execution_count=5)
    warning = new_output("stream", name="stderr", text="a warning")
    main = page_of(tmp_path, new_code_cell("x", outputs=[result, warning])).find("main")
    assert "0.25" in main.text and "Out" not in main.text and "warning" not in main.text


def test_headings_are_a_table_of_contents_with_anchors_of_their_own(tmp_path):
    text = "# 01 · Title\n\n## Masks and $x_1$\n\n### Why\n\n## Masks & more\n\n### Why"
    page = page_of(tmp_path, new_markdown_cell(text))
    links = page.find(class_="contents").find_all("a")
    anchors = [heading["id"] for heading in page.find("main").find_all(["h2", "h3"])]
    assert [link["href"] for link in links] == [f"#{anchor}" for anchor in anchors]
    assert len(set(anchors)) == 4 and anchors[0] == "masks-and"
    assert links[0].find("math")


def test_lessons_and_their_neighbours_are_links(tmp_path):
    text = (
        "# 05 · Title\n\nAs in lesson 03, `04_sanet_zhang`, [lesson 01](01_gru.ipynb#gates), "
        "lesson 99 and the [report](experiments/report.ipynb); not `lesson 02`.\n\n- lesson 00"
    )
    before = contents.entries()[4]
    page = page_of(tmp_path, new_markdown_cell(text), before=before)
    found = [link["href"] for link in page.find("main").find_all("a")]
    assert found == [
        "03_han_imdb.html",
        "04_sanet_zhang.html",
        "01_gru.html#gates",
        "report.html",
        "00_start_here.html",
    ]
    assert page.find("a", rel="prev")["href"] == "04_sanet_zhang.html"
    assert not page.find("a", rel="next")


def test_the_search_knows_all_prose_of_a_page(tmp_path):
    text = (
        "Before.\n\n# 01 · Title\n\nFirst.\n\n---\n\nSecond.\n\n#### Small\n\nThird.\n\n"
        "<h2 id='x'>Raw</h2>"
    )
    path = write(notebook(new_markdown_cell(text)), tmp_path / "made.ipynb")
    found = site.export_html(path, tmp_path / "made.html")
    assert [(part["url"], part["heading"], part["text"]) for part in found] == [
        ("made.html", "01 Title", "Before."),
        ("made.html#01-title", "01 · Title", "First. Second."),
        ("made.html#small", "Small", "Third. Raw"),
    ]
    assert all(part["lesson"] == "01 Title" for part in found)
    bare = write(notebook(new_markdown_cell("Only words.")), tmp_path / "bare.ipynb")
    (section,) = site.export_html(bare, tmp_path / "bare.html")
    assert section["url"] == "bare.html" and section["text"] == "Only words."


def test_a_lesson_that_failed_says_where_and_nothing_in_papermills_words(tmp_path):
    banner = new_markdown_cell(
        "An error at 'In [5]'", metadata={"tags": ["papermill-error-cell-tag"]}
    )
    error = new_output(
        "error", ename="ValueError", evalue="no", traceback=["\x1b[31mValueError: no"]
    )
    cells = (banner, new_markdown_cell("# 01 · Title"), new_code_cell("x", outputs=[error]))
    page = page_of(tmp_path, *cells)
    assert page.find(class_="failed").find("a")["href"] == "#failed"
    assert "ValueError: no" in page.find(id="failed").text and "In [5]" not in page.text


def test_an_interrupted_course_keeps_the_pages_of_what_was_executed(tmp_path, monkeypatch):
    first, second = (
        write(notebook(new_markdown_cell(f"# 0{i} · Part {i}")), tmp_path / f"0{i}_part.ipynb")
        for i in (1, 2)
    )
    folder = made_site(monkeypatch, tmp_path, first, second)

    def execute(lesson, executed, *_):
        if lesson == second:
            raise KeyboardInterrupt
        executed.parent.mkdir(exist_ok=True)
        shutil.copy(lesson, executed)
        return lessons.Outcome(lesson.stem, 0.0, [])

    monkeypatch.setattr(build, "execute", execute)
    (folder / "02_part.html").write_text("of an earlier run")
    with pytest.raises(KeyboardInterrupt):
        site.course("smoke")
    assert sorted(path.name for path in folder.iterdir()) == [
        "01_part.html", "index.html", "search.js",
    ]  # fmt: skip
    assert "01_part.html" in (folder / "index.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_made_is_told_and_the_others_are_made(tmp_path, monkeypatch):
    sources = [
        write(notebook(new_markdown_cell(f"# 0{i} · Part {i}")), tmp_path / f"0{i}_part.ipynb")
        for i in (1, 2)
    ]
    folder = made_site(monkeypatch, tmp_path, *sources)
    (tmp_path / "executed").mkdir()
    shutil.copy(sources[0], tmp_path / "executed")
    (tmp_path / "executed" / "02_part.ipynb").write_text("no notebook")
    errors = site.write_site()
    assert list(errors) == ["02_part"] and errors["02_part"][0].startswith("no page: ")
    assert (folder / "01_part.html").exists() and not (folder / "02_part.html").exists()


def test_a_cover_that_is_no_picture_is_left_out(tmp_path, monkeypatch):
    broken = new_output("display_data", {"image/png": "bm8gcGljdHVyZQ=="})
    made = notebook(new_markdown_cell("# 01 · Title"), new_code_cell("x", outputs=[broken]))
    source = write(made, tmp_path / "01_made.ipynb")
    folder = made_site(monkeypatch, tmp_path, source)
    (tmp_path / "executed").mkdir()
    shutil.copy(source, tmp_path / "executed")
    assert site.write_site() == {}
    assert not parsed(folder / "index.html").find(class_="card").find("img")


@pytest.fixture
def committed_site(monkeypatch, tmp_path):
    """The site of the committed notebooks, with the outputs that they hold."""
    sources = [*lessons.lesson_paths(), *lessons.REPORTS]
    folder = made_site(monkeypatch, tmp_path, *sources)
    (tmp_path / "executed").mkdir()
    for source in sources:
        shutil.copy(source, tmp_path / "executed")
    site.write_site()
    return folder


def parsed(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def test_every_link_between_pages_leads_somewhere(committed_site):
    pages_of_it = {path.name: parsed(path) for path in committed_site.glob("*.html")}
    anchors = {
        name: {tag["id"] for tag in page.find_all(id=True)} | {"", "first-view"}
        for name, page in pages_of_it.items()
    }
    for name, page in pages_of_it.items():
        for link in page.find_all("a", href=True):
            address, _, anchor = link["href"].partition("#")
            if not address.startswith("http"):
                assert anchor in anchors[address or name], f"{name}: {link['href']}"


def test_the_index_shows_every_lesson_with_its_minutes_exercises_and_picture(committed_site):
    index = parsed(committed_site / "index.html")
    cards = index.find_all(class_="card")
    assert len(cards) == len(contents.entries()) + 2  # and the reports
    for card, entry in zip(cards, contents.entries(), strict=False):
        assert entry.title in card.text and entry.about.sentence in card.text
        assert f"{entry.minutes} minutes" in card.text
        assert f"{entry.exercises} exercise" in card.text and entry.exercises >= 2
        assert card.find("img")["src"].startswith("data:image/png")
    drawn = index.find("svg")
    assert [link["href"] for link in drawn.find_all("a")] == [
        f"{entry.stem}.html" for entry in contents.entries()
    ]
    for look in ("needs", "helps"):
        count = sum(len(getattr(entry.about, look)) for entry in contents.entries())
        assert 0 < len(drawn.find_all("path", class_=look)) <= count
    assert len(index.find(class_="hero").find_all("iframe")) == 3


def below(stem):
    """A lesson's needs and helps, and theirs, by number."""
    about = contents.ABOUT[stem]
    direct = {*about.needs, *about.helps}
    return {other[:2] for other in direct}.union(*map(below, direct))


def test_the_map_agrees_with_what_each_lesson_says_it_needs():
    for path in lessons.lesson_paths():
        head = nbformat.read(path, as_version=4).cells[0].source
        said = re.search(r"\*\*You need\*\*(.*?)\n\n", head, re.DOTALL)[1]
        needed, mentioned = (
            set(re.findall(r"\b\d\d\b", part)) for part in (said.partition(";")[0], said)
        )
        about = contents.ABOUT[path.stem]
        assert {stem[:2] for stem in about.needs} <= needed <= below(path.stem)
        assert {stem[:2] for stem in about.helps} <= mentioned


def test_no_box_of_the_map_covers_another_and_every_arrow_leads_down(committed_site):
    drawn = parsed(committed_site / "index.html").find("svg")
    width = float(drawn["viewbox"].split()[2])
    boxes = [
        [float(box[a]) for a in ("x", "y", "width", "height")] for box in drawn.find_all("rect")
    ]
    for x, y, wide, high in boxes:
        assert x >= 0 and x + wide <= width
        others = [box for box in boxes if box != [x, y, wide, high]]
        assert all(x + wide <= o[0] or o[0] + o[2] <= x or abs(y - o[1]) >= high for o in others)
    for arrow in drawn.find_all("path", attrs={"marker-end": True}):
        points = np.reshape([float(number) for number in re.findall(r"[\d.]+", arrow["d"])], (4, 2))
        assert points[-1, 1] > points[0, 1]
        for t in np.linspace(0.1, 0.9, 40):  # a cubic curve passes through no box
            x, y = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]) @ points
            assert not any(a < x < a + wide and b < y < b + high for a, b, wide, high in boxes)


def test_the_map_leaves_out_only_what_its_other_arrows_imply():
    def entry(stem, needs=(), helps=()):
        return contents.Entry(
            stem, stem, stem, contents.About(stem, stem, needs, helps), 0, 0, 0, ""
        )

    chain = [entry("a"), entry("b", ["a"]), entry("c", ["b", "a"]), entry("d", ["a"], ["c", "b"])]
    drawn = BeautifulSoup(drawn_map(chain, set()), "html.parser")
    assert len(drawn.find_all("path", class_="needs")) == 3  # not from a to c: b leads there
    assert len(drawn.find_all("path", class_="helps")) == 1  # not from b to d: c leads there


def test_the_readme_has_every_lesson_with_its_sentence_and_minutes():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for entry in contents.entries():
        sentence = entry.about.sentence[0].lower() + entry.about.sentence[1:-1]
        link = f"[{entry.number} {entry.title}](notebooks/{entry.stem}.ipynb)"
        assert f"| {link} | {sentence} | {entry.minutes} min |" in readme


def test_what_the_index_says_of_the_three_readers_is_in_their_record():
    kept = json.loads(picture.READINGS.read_text(encoding="utf-8"))
    trained, untrained, uniform = kept["readers"]
    assert kept["words"][int(np.argmax(trained["attention"]))] == "dull"
    assert trained["probabilities"][0] > 0.9 and max(untrained["attention"]) < 0.1
    assert len(set(uniform["attention"])) == 1
    assert [reader["answer"] for reader in hero.hero()["readers"]] == [
        "negative, 98 %",
        "negative, 50 %",
        "negative, 64 %",
    ]


def test_the_search_knows_the_prose_and_neither_code_nor_outputs(committed_site):
    text = (committed_site / "search.js").read_text(encoding="utf-8")
    sections = json.loads(text.partition("\nconst SECTIONS = ")[2].rstrip(";\n"))
    assert len({section["id"] for section in sections}) == len(sections) > 100
    (found,) = [section for section in sections if section["id"] == "00_start_here.html#recap"]
    assert found["heading"] == "Recap" and found["url"] == "00_start_here.html#recap"
    assert "Attention weights are numbers" in found["text"]
    words = " ".join(section["text"] for section in sections)
    assert "import torch" not in words and "<" not in words.replace(" < ", "")


def test_exported_lesson_asks_for_nothing_and_draws_formulas(tmp_path):
    picture = new_output("display_data", {"image/png": PIXEL})
    picture.metadata["image/png"] = {"alt": 'a "pixel" <b>'}
    hostile = new_output("stream", name="stdout", text="<script>alert(1)</script>")
    page = page_of(
        tmp_path,
        new_markdown_cell("# Title\n\nWith $\\alpha_i$ and\n\n$$s = \\sum_i \\alpha_i h_i$$"),
        new_code_cell("x", outputs=[picture, hostile]),
    )
    assert len(page.find_all("math")) == 2 and page.find("msub")
    (script,) = page.find_all("script")  # ours, at the end
    assert script.text.strip() == (ASSETS / "site.js").read_text(encoding="utf-8").strip()
    assert not page.find(["link", "base", "object", "embed"])
    assert not re.search(r"url\(\s*[\"']?(?!data:)|@import", page.find("style").text)
    assert "<script>alert(1)</script>" in page.find(class_="output").find_next("pre").text
    assert page.find("main").find("img")["alt"] == 'a "pixel" <b>'


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<b onclick=alert(1)>word</b>",
    "<a href=javascript:alert(1)>word</a>",
    "<a href='&#106;avascript:alert(1)'>word</a>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>parent.x</script>' sandbox='allow-scripts allow-same-origin' "
    "onload='alert(1)'></iframe>",
    "<iframe srcdoc='<img src=https://elsewhere.example/x>'></iframe>",
    "<p style='background:url(https://elsewhere.example/x)'>word</p>",
    "<img src=https://elsewhere.example/x>",
    "<style>body { display: none }</style>",
    "<meta http-equiv=refresh content=0>",
    "[word](javascript:alert(1))",
    "![word](https://elsewhere.example/x)",
    "$\\text{<script>alert(1)</script>}$",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\style{background:url(https://elsewhere.example/x)}{x}$",
)


def exported(tmp_path, kind, text):
    """The page of a lesson with this output."""
    output = new_output("display_data", {kind: text})
    return page_of(tmp_path, new_code_cell("x", outputs=[output])).find(class_="output")


def assert_harmless(output):
    assert not output.find_all(["script", "style", "meta", "svg", "form", "object", "embed"])
    for tag in output.find_all(True):
        for name, value in tag.attrs.items():
            assert not name.startswith("on"), f"{name} of <{tag.name}>"
            if name in ("href", "src", "action"):
                assert value.startswith(("http", "#", "data:image/")), value
                assert tag.name == "a" or value.startswith("data:image/"), value
            assert name != "style" or "url" not in value
        if tag.name == "iframe":
            assert tag["sandbox"] == ["allow-scripts"]  # one word, no more
            assert not tag.get("srcdoc")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_in_a_table_do_nothing_and_html_among_them_is_shown_as_it_is(text, tmp_path):
    table = f"| word | share |\n|---|---:|\n| {text} | **0.5** |"
    output = exported(tmp_path, "text/markdown", table)
    assert_harmless(output)
    word, share = output.find("table").find_all("td")
    assert share.find("strong").text == "0.5"
    if text.startswith("<"):
        assert word.text == text and not word.find(True)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_html_does_nothing(text, tmp_path):
    output = exported(tmp_path, "text/html", f"<p><b>ours</b> {text}</p><ul><li>one</li></ul>")
    assert_harmless(output)
    assert output.find("b").text == "ours" and output.find("li").text == "one"


def test_formulas_and_code_in_markdown_outputs_are_drawn(tmp_path):
    output = exported(tmp_path, "text/markdown", "with $\\alpha_i < 1$\n\n```python\nx < 1\n```")
    assert output.find("math").find("msub").text == "αi" and "<" in output.find("math").text
    assert output.find("pre").text == "x < 1\n"


def test_our_own_frame_keeps_what_it_draws_and_its_height(tmp_path):
    ours = AttentionHeatmap([[1.0, 0.0], [0.25, 0.75]], ["a", "<b>"]).to_html()
    before = BeautifulSoup(ours, "html.parser").find("iframe").attrs
    after = exported(tmp_path, "text/html", ours).find("iframe").attrs
    assert after | {"style": ""} == before | {"style": ""}
    assert after["style"].rstrip(";") == before["style"]


@pytest.mark.parametrize("kind", ["application/javascript", "image/svg+xml", "text/latex"])
def test_other_forms_of_an_output_are_left_out(kind, tmp_path):
    output = new_output("display_data", {kind: "<svg onload=alert(1)>", "text/plain": "words"})
    main = str(page_of(tmp_path, new_code_cell("x", outputs=[output])).find("main"))
    assert "alert(1)" not in main and "words" in main


def test_pages_link_to_the_reading_room_where_there_is_one(tmp_path):
    source = write(notebook(new_markdown_cell("# 06 · AGT")), tmp_path / "made.ipynb")
    for stem, address in {
        "06_agt_compositionality": "reading_room.html#example=order",
        "report": "reading_room.html",
    }.items():
        path = tmp_path / f"{stem}.html"
        (tmp_path / "reading_room.html").unlink(missing_ok=True)
        site.export_html(source, path)
        assert "reading room" not in path.read_text(encoding="utf-8")
        (tmp_path / "reading_room.html").touch()
        site.export_html(source, path)
        assert f'href="{address}">The reading room' in path.read_text(encoding="utf-8")
