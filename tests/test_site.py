"""The site: executed lessons as pages that ask for nothing and run nothing that data hold."""

import os
import re

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_lessons import PARAMETERS, PIXEL, notebook, write

from course_lib.teaching import lessons, site
from course_lib.views.heatmap import AttentionHeatmap

VIEW = """
from course_lib.views.heatmap import AttentionHeatmap
AttentionHeatmap([[1.0, 0.0], [0.25, 0.75]], ["a", "<b>"])
"""


def test_a_view_is_a_page_on_the_site_and_a_picture_in_the_committed_notebook(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("JPY_SESSION_NAME", "as if started from a notebook")
    source = write(notebook(PARAMETERS, new_code_cell(VIEW)), tmp_path / "01_view.ipynb")
    monkeypatch.setattr(site, "pages", lambda: [source])
    for module in (lessons, site):
        monkeypatch.setattr(module, "EXECUTED", tmp_path / "executed")
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
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
    (tmp_path / "01_new.html").write_text("of an earlier run")
    failed = lessons.Outcome("01_new", 0.0, ["no kernel"])
    monkeypatch.setattr(site, "pages", lambda: [tmp_path / "01_new.ipynb"])
    monkeypatch.setattr(site, "execute", lambda *arguments: failed)
    monkeypatch.setattr(site, "EXECUTED", tmp_path / "executed")
    monkeypatch.setattr(site, "SITE", tmp_path)
    assert site.course("smoke") == [failed]
    assert not (tmp_path / "01_new.html").exists()
    assert "01_new" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_what_is_folded_stays_folded_on_the_site(tmp_path):
    fold = "<details><summary>Hint</summary>\n\n- **one**\n\n</details>\n\nafter"
    shown = "<details><summary>Hint</summary><strong>one</strong></details>after"
    output = new_output("display_data", {"text/html": shown})
    made = notebook(new_markdown_cell(fold), new_code_cell("x", outputs=[output]))
    page = tmp_path / "lesson.html"
    site.export_html(write(made, tmp_path / "lesson.ipynb"), page)
    text = page.read_text(encoding="utf-8")
    folded = re.findall(r"<details>(.*?)</details>", text, flags=re.DOTALL)
    assert len(folded) == 2
    assert all("<strong>one</strong>" in part and "after" not in part for part in folded)


def test_exported_lesson_asks_for_nothing_and_draws_formulas(tmp_path):
    picture = new_output("display_data", {"image/png": PIXEL})
    picture.metadata["image/png"] = {"alt": 'a "pixel" <b>'}
    hostile = new_output("stream", name="stdout", text="<script>alert(1)</script>")
    made = notebook(
        new_markdown_cell("# Title\n\nWith $\\alpha_i$ and\n\n$$s = \\sum_i \\alpha_i h_i$$"),
        new_code_cell("x", outputs=[picture, hostile]),
    )
    page = tmp_path / "lesson.html"
    site.export_html(write(made, tmp_path / "lesson.ipynb"), page)
    text = page.read_text(encoding="utf-8")
    assert text.count("<math") == 2 and "<msub>" in text
    assert not re.search(r"<script|<link|src=[\"']https?:|url\(https?:|@import", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert re.search(
        r'alt="a (&quot;|&#34;)pixel(&quot;|&#34;) &lt;b(&gt;|>)"|alt=\'a "pixel" &lt;b', text
    )


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
    made = notebook(new_code_cell("x", outputs=[output]))
    site.export_html(write(made, tmp_path / "lesson.ipynb"), tmp_path / "lesson.html")
    page = (tmp_path / "lesson.html").read_text(encoding="utf-8")
    return BeautifulSoup(page, "html.parser").find(class_="jp-OutputArea-output")


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
    made = notebook(new_code_cell("x", outputs=[output]))
    site.export_html(write(made, tmp_path / "lesson.ipynb"), tmp_path / "lesson.html")
    page = (tmp_path / "lesson.html").read_text(encoding="utf-8")
    assert "alert(1)" not in page and "words" in page
