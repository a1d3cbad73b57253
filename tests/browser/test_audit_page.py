"""The page of an audit in Chromium: what it shows, erases and escapes, on a desk and on a phone."""

import lab
import pytest
from audited import Pooling, texts
from axe_playwright_python.sync_playwright import Axe

from course_kit.audit import audit

MARKUP = "<img/src=x>"


@pytest.fixture(scope="module")
def report():
    model = Pooling(1)
    model.classes = ("<b>bad</b>", "</script><script>document.title='run'</script>")
    return audit(model, [[*words, MARKUP] for words in texts(1, 24)], name=MARKUP)


@pytest.fixture(params=[(1440, "light"), (1440, "dark"), (400, "light"), (400, "dark")])
def page(request, browser, report, tmp_path):
    width, scheme = request.param
    report.save(tmp_path / "audit.html")
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    context = browser.new_context(**options, offline=True)
    opened = context.new_page()
    watched, address = lab.Watched(opened), (tmp_path / "audit.html").as_uri()
    opened.goto(address)
    yield opened
    assert watched.wrong == [] and set(watched.asked) == {address}
    context.close()


def test_verdict_figures_and_texts_are_there_and_fit(page, report):
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]
    assert page.locator(".verdict").inner_text().endswith(report.headline)
    assert page.locator("figure svg").count() == sum(len(one.rows) for one in report.answers)
    assert page.locator(".view h3").all_inner_texts() == [
        view["name"] for view in report.texts[0]["views"]
    ]
    assert page.locator("img").count() == 0 and page.title() == f"Audit: {MARKUP}"
    assert MARKUP in page.locator(".view").first.inner_text()
    tinted = page.locator(".for, .against")
    colours = "all => all.map((one) => getComputedStyle(one).backgroundColor)"
    before = tinted.evaluate_all(colours)
    for forced in ("none", "active"):
        page.emulate_media(forced_colors=forced)
        assert tinted.evaluate_all(colours) == before
        assert [found["id"] for found in Axe().run(page).response["violations"]] == []


def test_a_text_is_picked_and_erased_by_keyboard(page, report):
    worst = min(report.texts, key=lambda one: one["agreement"])
    words = page.locator(".view").first.locator(".word")
    assert words.all_inner_texts() == worst["words"]
    page.locator("#erase").focus()
    for step in range(1, 6):
        page.keyboard.press("ArrowRight")
        for place, view in enumerate(worst["views"]):
            shown = page.locator(".view").nth(place)
            assert shown.locator(".value").inner_text().endswith(f"= {view['steps'][step]:.2f}")
            assert shown.locator(".gone").count() == worst["counts"][step]
            assert shown.locator(".gone").first.inner_text() in worst["words"]
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    assert page.locator("#pick").input_value() == "1"
    second = sorted(report.texts, key=lambda one: one["agreement"])[1]
    assert words.all_inner_texts() == second["words"]
    page.emulate_media(media="print")
    assert not page.locator("#erase").is_visible() and words.first.is_visible()
