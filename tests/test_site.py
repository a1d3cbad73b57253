"""The site: executed lessons as pages that ask for nothing and run nothing that data hold."""

import json
import re
import shutil

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_lessons import PARAMETERS, PIXEL, notebook
from test_students import check_cell, solution_cell

from course_kit.publishing import contents, lessons, site, students
from course_kit.publishing.site.cleaning import clean_html
from course_kit.publishing.site.pages import site_page
from course_kit.publishing.site.sections import sections_of
from course_lib.views import plots
from course_lib.views.heatmap import AttentionHeatmap

pytestmark = pytest.mark.full  # the whole site is built


def page_of(*cells):
    pages = ("01_gru.ipynb", "03_han_imdb.ipynb", "report.ipynb")
    return site_page(notebook(*cells), "02_made.ipynb", pages).cells


def shown(kind, text):
    """The HTML that the site shows of an output."""
    (cell,) = page_of(new_code_cell("x", outputs=[new_output("display_data", {kind: text})]))
    return BeautifulSoup(cell.outputs[0].data["text/html"], "html.parser")


def test_plumbing_is_folded_and_claims_and_what_papermill_adds_are_left_out():
    tagged = {
        tag: new_code_cell("assert True", metadata={"tags": [tag]})
        for tag in ("injected-parameters", "claim")
    }
    drawing = new_code_cell("draw()", metadata={"jupyter": {"source_hidden": True}})
    imports = new_code_cell("import torch")
    cells = page_of(PARAMETERS, *tagged.values(), imports, drawing, new_code_cell("x"))
    assert [cell.metadata.get("mystnb", {}).get("code_prompt_show") for cell in cells] == [
        "Settings",
        "Imports",
        "What draws or prepares this",
        None,
    ]
    assert [cell.metadata.get("tags") for cell in cells] == [["hide-input"]] * 3 + [[]]
    removed = new_code_cell("import torch", metadata={"tags": ["remove-input"]})
    assert page_of(removed)[0].metadata == {"tags": ["remove-input"]}


def test_a_solution_is_folded_behind_what_learners_start_from():
    anchor, stub, solution, check = page_of(solution_cell(), check_cell("check(my_softmax)"))
    assert anchor.source == '<span id="exercise-softmax"></span>'
    assert "YOUR CODE HERE" in stub.source and "masked_fill" not in stub.source
    assert solution.metadata.mystnb.code_prompt_show.startswith("Solution")
    assert "masked_fill" in solution.source and check.metadata.tags == []


def test_the_site_of_a_class_leaves_solutions_out():
    told = new_markdown_cell("Why?\n\n<details><summary>Solution</summary>So.</details>\n\nNext.")
    folded = new_markdown_cell("<details><summary>Answer</summary>Yes.</details>")
    cells = notebook(solution_cell(), check_cell("check(my_softmax)"), told, folded)
    page = site_page(cells, "02_made.ipynb", (), solutions=False)
    _, stub, check, question, answer = page.cells
    assert "YOUR CODE HERE" in stub.source and "masked_fill" not in json.dumps(page)
    assert check.source == "check(my_softmax)"
    assert "So." not in question.source and "Next." in question.source
    assert "Yes." in answer.source


def test_an_output_has_one_form_and_no_message_of_this_machine():
    picture = new_output("display_data", {"image/png": PIXEL, "text/plain": "<Figure>"})
    picture.metadata["image/png"] = {"alt": 'a "pixel" <b>'}
    widget = new_output("display_data", {lessons.WIDGET: {}, "text/plain": "Box()"})
    warning = new_output("stream", name="stderr", text="a warning")
    svg = new_output("display_data", {"image/svg+xml": "<svg onload=x>", "text/plain": "words"})
    (cell,) = page_of(new_code_cell("x", outputs=[picture, widget, warning, svg]))
    first, second = cell.outputs
    (image,) = BeautifulSoup(first.data["text/html"], "html.parser").find_all(True)
    assert image["alt"] == 'a "pixel" <b>' and image["src"] == f"data:image/png;base64,{PIXEL}"
    assert first.data.keys() == {"text/html"} and second.data == {"text/plain": "words"}


def test_a_lesson_that_failed_says_so_at_its_top():
    error = new_output("error", ename="ValueError", evalue="no", traceback=["ValueError: no"])
    banner = new_markdown_cell("In [5]", metadata={"tags": ["papermill-error-cell-tag"]})
    cells = page_of(banner, new_markdown_cell("# Title"), new_code_cell("x", outputs=[error]))
    assert "stopped at a cell that failed" in cells[1].source and len(cells) == 3


def test_a_side_note_stands_in_the_margin_beside_the_paragraph_that_links_to_it():
    text = "One.\n\nSee [which](further/report.ipynb), [gone](further/x.ipynb).\n\nThree."
    (cell,) = page_of(new_markdown_cell(text))
    one, note, linked, three = cell.source.split("\n\n")
    assert note == "```{margin} Side note\n[](report.ipynb)\n```"
    assert (one, linked, three) == ("One.", "See [which](report.ipynb), gone.", "Three.")


def test_other_lessons_are_links_outside_of_links_code_formulas_and_headings():
    text = (
        "# As in lesson 01\n\nLesson 03, [lesson 01](01_gru.ipynb#gates), `lesson 02`, $lesson 04$,"
        " lesson 99 and the [report](experiments/report.ipynb); [no page](extensions.ipynb#x)."
    )
    (cell,) = page_of(new_markdown_cell(text))
    linked = text.replace("Lesson 03", "[Lesson 03](03_han_imdb.ipynb)")
    linked = linked.replace("experiments/", "").replace("[no page](extensions.ipynb#x)", "no page")
    assert cell.source == linked
    folded = "<details>Lesson 03</details>\n\n[the sizes](../data/README.md#sizes)"
    (cell,) = page_of(new_markdown_cell(folded))
    assert cell.source == (
        '<details><a href="03_han_imdb.html">Lesson 03</a></details>\n\n'
        "the sizes (`data/README.md`)"
    )


def test_a_table_has_minus_signs_and_no_negative_zero(monkeypatch):
    given = []
    monkeypatch.setattr(plots, "display", given.append)
    plots.show_markdown("| a-1 |\n|---|\n| -3.9 [-4.0, -0.0] (s0-1, -0.05, -0) |")
    assert shown("text/markdown", given[0].data).td.text == "−3.9 [−4.0, 0.0] (s0-1, −0.05, 0)"


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
    "</td></table><script>alert(1)</script>",
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    ("kind", "around"),
    [
        ("text/html", "<p><b>ours</b> {}</p><ul><li>one</li></ul>"),
        ("text/markdown", "| word | share |\n|---|---:|\n| {} | **ours** |\n\n- one"),
    ],
)
def test_hostile_outputs_do_nothing(kind, around, text):
    output = shown(kind, around.format(text))
    assert "ours" in [tag.text for tag in output.find_all(["b", "strong"])]
    assert output.find("li").text == "one"
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


def test_our_own_frame_keeps_what_it_draws_and_its_height():
    ours = AttentionHeatmap([[1.0, 0.0], [0.25, 0.75]], ["a", "<b>"]).to_html()
    before = BeautifulSoup(ours, "html.parser").find("iframe").attrs
    after = BeautifulSoup(clean_html(ours), "html.parser").find("iframe").attrs
    assert after | {"style": ""} == before | {"style": ""}
    assert after["style"].rstrip(";") == before["style"]


def test_a_table_in_an_output_links_to_the_pages_that_there_are():
    text = "[a](../03_han_imdb.ipynb#x) [b](../further/gone.ipynb) [c](../../results/a/b.json)"
    output = shown("text/markdown", f"{text} [d](#here) <a href='../e.html'>e</a>")
    links = {tag.text: tag.get("href") for tag in output.find_all("a")}
    assert links == {"a": "03_han_imdb.html#x", "d": "#here", "e": None}
    assert "b c (results/a/b.json)" in output.text


def test_folds_and_code_in_outputs_stay_what_they_are():
    text = "<details><summary>In JavaScript</summary>\n\n```js\nw[`c.${x}`] < 1\n```\n\n</details>"
    fold = shown("text/markdown", text).find("details")
    assert (fold.find("summary").text, fold.find("code").text) == (
        "In JavaScript",
        "w[`c.${x}`] < 1\n",
    )


PAGE = r"""
Course
======

Intro.

Part one
--------

.. raw:: html

   <details><summary>Answer</summary>

Secret.

.. raw:: html

   </details></details>

Shown :math:`z`, :math:`\hat h`.

.. container:: cell

   A solution.

.. raw:: html

   <table><tr><td title="a > b">1</td><td>2<b>3</b> &amp
"""


def test_a_section_s_text_is_what_is_seen_without_unfolding():
    page = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    page.next_node(nodes.container)["classes"] += ["tag_hide-input"]  # as myst-nb says it
    assert sections_of(page, "p") == [
        ("p", "Course", "", "Course", "Intro."),
        ("p", "Course", "part-one", "Part one", "Shown z, …. 1 23 &"),
    ]


def site_of(folder, for_class=False):
    """The site of two committed lessons, with the outputs that they hold, built over an earlier
    one; the reading room lies there."""
    executed, target = folder / "executed", folder / "site"
    executed.mkdir()
    target.mkdir()
    for name in (site.ROOM, "08_gone.html"):
        (target / name).write_text("of an earlier build")
    first, second, *_ = lessons.lesson_paths()
    for source in (first, second):
        shutil.copy(source, executed)
    site.write_site(executed, target, folder / "sources", for_class=for_class)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return site_of(tmp_path_factory.mktemp("built"))


def parsed(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.mark.full
def test_every_page_leads_to_all_others_and_every_link_somewhere(built):
    pages = {path.name: parsed(path) for path in built.glob("*.html") if path.name != site.ROOM}
    assert pages.keys() >= {"00_start_here.html", "01_gru.html", "index.html", "report.html"}
    anchors = {name: {tag["id"] for tag in page.find_all(id=True)} for name, page in pages.items()}
    for name, page in pages.items():
        links = [link["href"] for link in page.find_all("a", href=True)]
        assert {"report.html", "00_start_here.html"} - {name} <= set(links)
        for link in links:
            address, _, anchor = link.partition("#")
            if not address.startswith(("http", "mailto")):
                assert not address or (built / address).exists(), f"{name}: {link}"
                if anchor and (address or name) in anchors:
                    assert anchor in anchors[address or name], f"{name}: {link}"
    assert not (built / "08_gone.html").exists()
    assert pages["00_start_here.html"].find(class_="right-next")["href"] == "01_gru.html"
    assert pages["01_gru.html"].select_one("math msub")
    assert pages["index.html"].find("a", href=site.ROOM)


def test_the_teacher_s_pages_are_there_with_links_to_the_lessons_that_are(built):
    for name in ("teaching/README", "report", "audits"):
        assert parsed(built / "index.html").find("article").find("a", href=f"{name}.html")
    for page in (
        (plan := parsed(built / "teaching" / "README.html")),
        parsed(built / "teaching/00.html"),
    ):
        assert page.find("a", href="../00_start_here.html")
        assert not page.find("a", href=re.compile("03_han|\\.md|ipynb$"))
    assert "(notebooks/README.md of the repository)" in plan.text
    assert "CC BY 4.0" in plan.text and plan.find("a", href="11.html")


@pytest.mark.full
def test_no_page_of_a_class_s_site_holds_a_solution(tmp_path):
    target = site_of(tmp_path, for_class=True)
    source = nbformat.read(lessons.lesson_paths()[1], as_version=4)
    found = students.find_exercises(source, "01")
    lines = [
        line.strip()
        for exercise in found
        for line in students.MARKED.search(source.cells[exercise.solution].source)[0].splitlines()
    ]
    telling = [line for line in lines if "=" in line]
    page = parsed(target / "01_gru.html").text
    assert "YOUR CODE HERE" in page and telling
    assert not [line for line in telling if line in page]
    assert not list(target.glob("teaching/*")) and not parsed(target / "index.html").find(
        "a", href="teaching/README.html"
    )
    assert (target / "report.html").exists() and (target / "further.html").exists()


def test_the_download_is_the_learner_s_copy_and_no_file_is_a_source(built):
    button = parsed(built / "01_gru.html").find("a", href="copies/01_gru.ipynb")
    assert button and button.has_attr("title")
    text = (built / "copies" / "01_gru.ipynb").read_text(encoding="utf-8")
    assert "YOUR CODE HERE" in text and students.BEGIN not in text  # as test_students has it
    folders = {built / "copies", built / "copies" / "further"}
    assert {path.parent for path in built.rglob("*.ipynb")} == folders
    assert not (built.parent / "jupyter_execute").exists()  # myst-nb's copies hold the solutions
    assert not [path for path in built.glob("_sources/**/*") if path.is_file()]


def test_the_search_holds_every_section_and_nothing_that_is_folded(built):
    held = (built / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(held.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    assert {page for page, *_ in found} >= {"index", "00_start_here", "01_gru", "teaching/00"}
    anchors = {
        page: {tag["id"] for tag in parsed(built / f"{page}.html").find_all(id=True)}
        for page in {section[0] for section in found}
    }
    assert all(not anchor or anchor in anchors[page] for page, _, anchor, *_ in found)
    sections = {(page, heading): text for page, _, _, heading, text in found}
    gate = sections["01_gru", "1 · Keep a word by hand"]
    assert "Each word proposes a new value, the candidate" in gate
    assert "forgets little" not in gate  # the answer to its question
    step = sections["01_gru", "Exercise 1 ●○○ · 10 minutes: a step"]
    assert "YOUR CODE HERE" in step and "torch.sigmoid" not in step
    whole = parsed(built / "01_gru.html").find("article").text
    assert "forgets little" in whole and "torch.sigmoid" in whole


def test_a_title_names_the_course_once_and_the_contents_every_heading(built):
    course, index = "Attention you can read, measure and doubt", parsed(built / "index.html")
    assert index.title.text == course
    assert parsed(built / "01_gru.html").title.text.endswith(f" — {course}")
    listed = [link.text.strip() for link in index.select("#pst-page-toc-nav a")]
    assert listed == [h2.contents[0] for h2 in index.find("article").find_all("h2")]
    assert "One sentence, three readers" in listed


def test_the_study_links_to_its_plan(built):
    assert parsed(built / "results.html").find("article").find("a", href="plan.html")
    assert "committed before the first run that counts" in parsed(built / "plan.html").text


def test_the_index_names_every_lesson(built):
    table = parsed(built / "index.html").find("table").text
    for path in lessons.lesson_paths()[:2]:
        entry = contents.read_entry(path)
        assert entry.question in table and f"{entry.minutes}" in table


def test_what_the_index_says_of_the_three_readers_is_in_their_record():
    kept = json.loads(site.READINGS.read_text(encoding="utf-8"))
    trained, untrained, uniform = kept["readers"]
    assert kept["words"][int(np.argmax(trained["attention"]))] == "dull"
    assert trained["probabilities"][0] > 0.9 and max(untrained["attention"]) < 0.1
    assert len(set(uniform["attention"])) == 1
    drawn = BeautifulSoup(site.three_readers(site.READINGS), "html.parser")
    assert [part.find_all("p")[-1].text for part in drawn.find_all(class_="reader")] == [
        "Its answer: negative, 98 %",
        "Its answer: negative, 50 %",
        "Its answer: negative, 64 %",
    ]
