"""The site in Chromium, from files: axe's rules, a phone, the search, paper, and no request."""

import base64
import re
import shutil
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab import Watched

from course_kit.publishing import site
from course_kit.publishing.lessons import LESSONS, execute

pytestmark = pytest.mark.full
VIEWS = "00_start_here"  # with views as they stand on the site
PAGES = ("index", VIEWS, "report")


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    """The site of a lesson executed anew, and of committed notebooks with their outputs."""
    folder = tmp_path_factory.mktemp("site")
    executed, target = folder / "executed", folder / "site"
    executed.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_HEATMAP", "static")
        outcome = execute(LESSONS / f"{VIEWS}.ipynb", executed / f"{VIEWS}.ipynb", "smoke")
    assert outcome.errors == []
    for path in site.pages():
        if path.stem in ("02_attention", "06_agt_compositionality", "report"):
            shutil.copy(path, executed)
    site.write_site(executed, target, folder / "sources")
    return target


@pytest.fixture
def open_page(browser, site_folder):
    """``open_page(name)``: a page from a file in a browser without a network."""
    contexts = []

    def open_one(name, width=1280, scheme="light"):
        size = {"width": width, "height": 900}
        # without motion: buttons fade into the dark colours, and axe would measure one on its way
        context = browser.new_context(
            viewport=size, color_scheme=scheme, offline=True, reduced_motion="reduce"
        )
        context.set_default_timeout(120_000)  # a page has many pictures, and a machine other work
        watched = Watched(context.new_page())
        contexts.append((context, watched))
        watched.page.goto((site_folder / f"{name}.html").as_uri())
        return watched.page

    yield open_one
    for context, watched in contexts:
        assert watched.wrong == []
        assert [address for address in watched.asked if address.startswith("http")] == []
        context.close()


def check_axe(page):
    found = Axe().run(page).response["violations"]
    serious = [rule for rule in found if rule["impact"] in ("serious", "critical")]
    assert not {"region", "landmark-no-duplicate-banner"} & {rule["id"] for rule in found}
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in serious] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(open_page, name, scheme):
    check_axe(open_page(name, scheme=scheme))


@pytest.mark.parametrize(("media", "width", "tag"), [("screen", 400, "pre"), ("print", 718, "div")])
@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_and_on_paper_nothing_is_too_wide(open_page, name, media, width, tag):
    page = open_page(name, width=width)
    page.emulate_media(media=media)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate(
        f"""() => [...document.querySelectorAll("article p, article {tag}")]
          .filter((part) => part.scrollWidth > part.clientWidth + 1 && !part.closest("iframe"))
          .map((part) => part.outerHTML.slice(0, 100))"""
    )
    assert cut == []


def test_on_a_phone_the_labels_of_a_drawing_are_legible_and_it_can_be_scrolled(open_page):
    page = open_page("02_attention", width=400)
    drawing = page.locator("img[src^='data:image/svg']")
    source = base64.b64decode(drawing.get_attribute("src").partition(",")[2]).decode()
    units = float(re.search(r'viewBox="0 0 ([\d.]+)', source)[1])
    smallest = 100 * min(map(float, re.findall(r"scale\(([\d.]+) -", source)))  # of glyphs, units
    assert smallest * drawing.bounding_box()["width"] / units >= 9
    check_axe(page)
    output = page.locator(".cell_output .output", has=drawing)
    output.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("part => part.scrollLeft > 0", arg=output.element_handle())


def test_on_a_phone_a_figure_keeps_its_size_and_can_be_scrolled(open_page):
    page = open_page("02_attention", width=400)
    sizes = "all => all.map((one) => [one.getBoundingClientRect().width, one.naturalWidth])"
    shown = page.locator(".cell_output img.figure").evaluate_all(sizes)
    assert len(shown) > 1 and all(abs(width - min(natural, 768)) < 1 for width, natural in shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_where_colours_are_forced_focus_and_the_choice_still_show(open_page):
    page = open_page("index")
    page.emulate_media(forced_colors="active")
    page.keyboard.press("Tab")  # so that what is focused by a script shows it, too
    for part in ("nav.bd-links a", ".bd-sidebar-secondary a"):
        link = page.locator(part).first
        link.focus()
        assert link.evaluate("one => getComputedStyle(one).outlineStyle") == "solid", part
    choice = page.locator(".readers label")
    grounds = choice.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert len(set(grounds)) == 2 and grounds[0] not in grounds[1:]


def test_search_finds_a_section_and_leads_there(open_page):
    page = open_page("search", scheme="dark")
    page.goto(f"{page.url}?q=gate highways")
    result = page.locator("#search-results li", has_text="in 06 · AGT: layers that select").first
    result.wait_for()
    marked = {mark.lower() for mark in result.locator("mark").all_inner_texts()}
    assert "highway" in marked <= {"highway", "highways", "gate", "gates"}
    assert len(result.locator(".context").inner_text()) > 150
    check_axe(page)
    result.locator("a").click()
    page.wait_for_url(re.compile(r"06_agt_compositionality\.html#[\w-]+$"))


def test_search_shows_what_is_asked_for_as_text_and_says_when_there_is_nothing(open_page):
    page = open_page("search")
    address = page.url
    for query, said in (
        ("<img src=x onerror=alert(1)> zzz", "of the 7 words"),
        ("zzz", "No section holds these words."),
        ("the", "hold what you look for"),
    ):
        page.goto(f"{address}?q={quote(query)}")
        page.locator("[role=status]", has_text=said).wait_for()
        assert page.locator("#search-results img").count() == 0


def test_the_switch_shows_one_reader_at_a_time(open_page):
    page = open_page("index")
    for name, answer in (("Before training", "50 %"), ("Trained, equal weights", "64 %")):
        page.locator("label").get_by_text(name, exact=True).click()
        shown = [part for part in page.locator(".reader").all() if part.is_visible()]
        assert len(shown) == 1 and answer in shown[0].inner_text()
        view = shown[0].locator("iframe").element_handle().content_frame()
        assert view.get_by_role("option").count() == 14


def test_print_unfolds_all_but_the_solutions_and_only_for_paper(open_page):
    page = open_page("02_attention")
    page.evaluate(
        """globalThis.seen = [];
        const page = document.documentElement.dataset;
        page.theme = "dark";
        addEventListener("beforeprint", () => seen.push([page.theme, true]));
        addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(
          (part) => seen.push([part.querySelector("summary").textContent.trim(), part.open])));"""
    )
    page.pdf()
    seen = page.evaluate("seen")
    folded = {text for text, is_open in seen if not is_open}
    assert folded and {"Solution", "Settings", "Imports"} >= {
        re.split(r"\W", text)[0] for text in folded
    }
    assert any(is_open for _, is_open in seen) and seen[0] == ["light", True]
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"  # as it was
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    assert not page.locator(".bd-sidebar-primary").is_visible()
    assert page.locator("h1:visible").count() == 1
