"""Decks of slides: question, picture, answer, from the cells of a lesson that say so."""

import re
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import lessons
from course_kit.publishing.site import slides
from course_kit.publishing.students import read_notebook
from course_lib import cli

TAGGED = {"tags": ["slide"]}
MOST = 20


def test_a_deck_has_what_its_cells_say_in_their_order():
    printed = new_output("stream", name="stdout", text="<b>1</b>\n")
    picture = new_output(
        "display_data", {"image/png": "AAAA"}, metadata={"image/png": {"alt": "A"}}
    )
    cells = [
        new_markdown_cell("# 42 · Title\n\n**The question:** why $x^2$?\n\nMore.", metadata=TAGGED),
        new_markdown_cell("**Before you run:** left out"),
        new_markdown_cell("Prose.\n\n**Before you run:** *which* one?\n\nMore.", metadata=TAGGED),
        new_code_cell("1", outputs=[printed, picture], metadata=TAGGED),
        new_markdown_cell(
            "<details><summary>Answer</summary>\n\n27. That one.\n\n</details>", metadata=TAGGED
        ),
        new_code_cell("2", outputs=[printed], metadata=TAGGED),
        new_markdown_cell(
            "## In five lines\n\n1. One.\n2. Two.\n\n**Recall**\n\n<details>"
            "<summary>Answers</summary>\n\nNo.\n\n</details>",
            metadata=TAGGED,
        ),
    ]
    kinds, bodies = zip(*slides.slides(new_notebook(cells=cells)), strict=True)
    assert kinds == ("opening", "question", "picture", "answer", "picture", "end")
    assert "42 · Title" in bodies[0] and "<math" in bodies[0] and "More" not in bodies[0]
    assert "<em>which</em> one?" in bodies[1] and "<p>27. That one.</p>" in bodies[3]
    assert 'alt="A"' in bodies[2] and "&lt;b&gt;1&lt;/b&gt;" in bodies[4]
    assert bodies[5].count("<li>") == 2 and "No." not in "".join(bodies)


def test_a_slide_is_headed_by_its_kind_and_the_first_by_the_lesson_s_title():
    first = "# 42 · Title\n\n**The question:** why?\n\n**Before you run:** which one?"
    cells = [new_markdown_cell(first, metadata=TAGGED)]
    cells += [new_markdown_cell("**The question:** and then?", metadata=TAGGED)]
    heads = [body.partition("\n")[0] for _, body in slides.slides(new_notebook(cells=cells))]
    assert heads == ["<h1>42 · Title</h1>", "<h1>Before you look</h1>", "<h1></h1>"]


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_every_lesson_has_a_deck_to_teach_from(path):
    kinds = [kind for kind, _ in slides.slides(read_notebook(path))]
    assert kinds[0] == "opening" and kinds[-1] == "end" and len(kinds) <= MOST
    assert kinds.count("picture") >= 3 and kinds.count("question") == kinds.count("answer") >= 3


@pytest.mark.full
def test_the_decks_ask_for_nothing(tmp_path, capsys):
    assert cli.main(["slides", "--to", str(tmp_path)]) == 0
    written = capsys.readouterr().out.split()
    assert len(written) == len(lessons.lesson_paths())
    for name in written:
        deck = Path(name).read_text(encoding="utf-8")
        asked = re.findall(r"(?:src|href)=[\"'](?!data:)[^\"']*|url\([^)]*\)|@import", deck)
        assert asked == [] and "default-src 'none'" in deck
