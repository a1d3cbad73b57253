"""The site in Chromium: every page by axe's rules, on a phone, by keyboard, and its search."""

import shutil

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from lab import Watched
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing.lessons import execute, views_shown
from course_kit.publishing.site import build
from course_lib.files import REPOSITORY

NOTEBOOKS = [*sorted((REPOSITORY / "notebooks").glob("[0-9]*.ipynb")), *build.REPORTS]
PAGES = ["index", *(path.stem for path in NOTEBOOKS)]


RUN = ("00_start_here", "05_iram_regularization")  # with views as they stand on the site


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    """The site of two lessons executed anew, and the committed notebooks with their outputs."""
    folder = tmp_path_factory.mktemp("site")
    executed = folder / "executed"
    executed.mkdir()
    for path in NOTEBOOKS:
        if path.stem in RUN:
            with views_shown("static"):
                assert execute(path, executed / path.name, "smoke").errors == []
        else:
            shutil.copy(path, executed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "EXECUTED", executed)
        patch.setattr(build, "SITE", folder)
        build.write_site()
    return folder


@pytest.fixture
def open_page(browser, site_folder):
    """``open_page(name)``: a page from a file in a browser without a network."""
    contexts = []

    def open_one(name, width=1280, scheme="light", folder=site_folder):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        watched = Watched(context.new_page())
        contexts.append((context, watched))
        watched.page.goto((folder / f"{name}.html").as_uri())
        return watched.page

    yield open_one
    for context, watched in contexts:
        assert watched.wrong == []
        assert {address for address in watched.asked if address.startswith("http")} == set()
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(open_page, name, scheme):
    found = Axe().run(open_page(name, scheme=scheme)).response["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in serious] == []


WIDER = """() => [...document.querySelectorAll("main *")].filter((part) =>
  part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".wide, math")
).map((part) => part.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_nothing_is_wider_than_the_screen(open_page, name):
    page = open_page(name, width=400)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate(WIDER) == []


def test_words_of_an_output_are_not_broken_on_a_phone(browser, open_page, tmp_path):
    text = "the word's weight and the uniform weight beside it, " * 4
    output = new_output("stream", name="stdout", text=text)
    made = new_notebook(cells=[new_code_cell("x", outputs=[output])])
    nbformat.write(made, tmp_path / "printed.ipynb")
    build.export_html(tmp_path / "printed.ipynb", tmp_path / "printed.html")
    page = open_page("printed", width=400, folder=tmp_path)
    broken = page.locator("pre.printed").evaluate(
        """(pre) => {
          const text = pre.firstChild, range = document.createRange();
          return [...text.data.matchAll(/\\S+/g)].filter(({ 0: word, index }) => {
            range.setStart(text, index);
            range.setEnd(text, index + word.length);
            return range.getClientRects().length > 1;
          }).map(({ 0: word }) => word);
        }"""
    )
    assert broken == [] and page.locator("pre.printed").bounding_box()["height"] > 40


@pytest.mark.parametrize("name", RUN)
def test_the_first_view_is_three_tabs_away(open_page, name):
    page = open_page(name)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the text"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the first view"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    frame = page.locator("iframe").first.element_handle().content_frame()
    assert frame.evaluate("document.activeElement !== document.body")


ASKING = """<!DOCTYPE html><iframe srcdoc="<script>fetch('http://127.0.0.1:9/asked')</script>
<img src=http://127.0.0.1:9/drawn>"></iframe><img src="http://127.0.0.1:9/seen">"""


def test_even_html_that_got_past_the_cleaning_could_ask_for_nothing(open_page, tmp_path):
    page = open_page("01_gru")
    text = page.content().replace("<main", f"{ASKING}<main", 1)
    (tmp_path / "asking.html").write_text(text, encoding="utf-8")
    finished, told = [], []
    hostile = page.context.new_page()
    hostile.on("requestfinished", lambda request: finished.append(request.url))
    hostile.on("console", lambda message: told.append(message.text))
    hostile.goto((tmp_path / "asking.html").as_uri())
    hostile.wait_for_timeout(500)
    refused = " ".join(text for text in told if "Content Security Policy" in text)
    assert all(f"127.0.0.1:9/{what}" in refused for what in ("asked", "drawn", "seen"))
    assert not any(url.startswith("http") for url in finished)


def test_search_finds_a_section_and_leads_there(open_page):
    page = open_page("00_start_here")
    page.get_by_role("searchbox").click()
    page.keyboard.type("highway lay")
    results = page.locator("#found a")
    results.first.wait_for()
    assert page.locator("script[src]").count() == 1
    assert "highway" in results.first.inner_text().lower()
    results.first.click()
    page.wait_for_url("**/06_agt_compositionality.html#*")
    assert page.locator(":target").count() == 1


def test_a_search_without_its_file_says_so(open_page, tmp_path):
    nbformat.write(
        new_notebook(cells=[new_markdown_cell("# 01 · Alone")]), tmp_path / "alone.ipynb"
    )
    build.export_html(tmp_path / "alone.ipynb", tmp_path / "alone.html")
    page = open_page("alone", folder=tmp_path)
    page.get_by_role("searchbox").fill("mask")
    page.locator("#found").wait_for()
    assert (
        page.locator("#found").inner_text() == "No search: search.js is missing beside this page."
    )


def test_the_switch_shows_one_reader_at_a_time(open_page):
    page = open_page("index")
    for name, answer in (("Before training", "50 %"), ("Trained, equal weights", "64 %")):
        page.get_by_text(name, exact=True).click()
        shown = [part for part in page.locator(".reader").all() if part.is_visible()]
        assert len(shown) == 1 and answer in shown[0].inner_text()
        view = shown[0].locator("iframe").element_handle().content_frame()
        assert view.get_by_role("option").count() == 14


def test_every_name_on_the_map_fits_into_its_box(open_page):
    room = open_page("index").evaluate(
        """() => [...document.querySelectorAll(".map rect")].map((box) =>
          Math.min(...[...box.parentNode.querySelectorAll("text")].map((text) =>
            box.getBBox().width - text.getBBox().width)))"""
    )
    assert len(room) == 10 and min(room) >= 6


def test_a_line_of_prose_has_about_seventy_characters(open_page):
    page = open_page("02_attention")
    counts = page.locator(".prose > p").evaluate_all(
        """(paragraphs) => paragraphs.map((one) =>
          one.textContent.length / Math.max(1, Math.round(one.clientHeight / 27.2)))"""
    )
    full = [count for count in counts if count > 40]
    assert 55 <= sorted(full)[len(full) // 2] <= 80
    size = page.locator(".prose > p").first.evaluate("(p) => getComputedStyle(p).fontSize")
    assert size == "17px"


def test_subscripts_are_set_by_the_font_that_the_page_brings(open_page):
    page = open_page("02_attention")
    assert page.evaluate(
        "document.fonts.ready.then(() => document.fonts.check('17px \"Lesson Math\"'))"
    )
    base, script = page.locator("main msub").first.evaluate(
        "(one) => [...one.children].map((part) => part.getBoundingClientRect()).map((b) => "
        "[b.height, b.bottom])"
    )
    assert script[0] < base[0] and script[1] > base[1]


def test_the_contents_mark_the_section_that_is_read(open_page):
    page = open_page("02_attention")
    page.evaluate("document.querySelectorAll('main h2')[3].scrollIntoView()")
    current = page.locator(".contents a[aria-current]")
    current.wait_for()
    assert current.inner_text().startswith("4 ·")


def test_print_unfolds_all_but_the_solutions_and_only_for_paper(open_page):
    page = open_page("02_attention")
    page.evaluate(
        """globalThis.seen = [];
        addEventListener("beforeprint", () => document.querySelectorAll("main details").forEach(
          (part) => seen.push([part.querySelector("summary").textContent.trim(), part.open])));"""
    )
    page.pdf()
    seen = page.evaluate("seen")
    assert {text for text, is_open in seen if not is_open} <= {
        text for text, _ in seen if text.startswith("Solution")
    }
    assert any(is_open for _, is_open in seen) and not all(is_open for _, is_open in seen)
    assert page.locator("main details[open]").count() == 0
    page.emulate_media(media="print")
    assert not page.locator(".contents").is_visible() and not page.locator(".top").is_visible()
    assert page.locator("main h1").is_visible()
