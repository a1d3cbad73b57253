"""The reading room in Chromium: small networks, never trained, and everything a reader can do."""

import json
import re
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from lab import Watched
from probes import HOSTILE
from recorded import spec_of, tiny_vectors

from course_kit.reading_room.page.assembly import write_page
from course_kit.reading_room.page.build import packed
from course_kit.reading_room.page.examples import EXAMPLES
from course_lib.runs import Run, known_systems

CLASSES = ("negative", "<img src=x onerror=alert(4)>")
SETTLED = re.compile("The networks are ready|Read in|There are no words to read")
IDS = ("han", "sanet", "iram", "agt")


def small_run(system):
    """A network that was never trained, whose record says what the page tells of it."""
    changes = {"model.ngrams": 0} if system == "iram" else {}
    settings = spec_of(system, **changes).resolve().settings
    network = known_systems()[system](settings, CLASSES, tokeniser="untrained")
    network.build({}, 0)
    network.model.eval()
    spec, made = {"system": system, "dataset": "toy"}, {"subset": True, "source": "generated"}
    return Run({"id": system, "spec": spec, "data": made, "test": {"accuracy": 0.5}}, network)


@pytest.fixture(scope="module")
def room_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("room")
    with tiny_vectors(folder):
        runs = {name: small_run(name) for name in IDS}
        examples = [replace(example, readers=IDS) for example in EXAMPLES]
        path = write_page(packed(runs, examples), folder / "reading_room.html", examples)
    return path


@pytest.fixture(scope="module")
def site_room(tmp_path_factory):
    """The page as it stands in the site."""
    folder = tmp_path_factory.mktemp("site")
    with tiny_vectors(folder):
        runs = {"agt": small_run("agt")}
        examples = [replace(example, readers=("agt",)) for example in EXAMPLES]
        return write_page(packed(runs, examples), folder / "room.html", examples, in_site=True)


@pytest.fixture
def open_room(browser, room_file):
    """``open_room(fragment)``: the page from its file, its networks ready, without a network."""
    opened = []

    def open_one(fragment="", width=1280, scripts=True, address=None, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            offline=address is None,
            java_script_enabled=scripts,
            accept_downloads=True,
            **options,
        )
        context.set_default_timeout(120_000)  # a busy machine is slow
        watched, told = Watched(context.new_page()), []
        watched.page.on("console", lambda message: told.append(message.text))
        opened.append((context, watched, told))
        if address:
            context.route(address, lambda route: route.fulfill(path=room_file))
        watched.page.goto((address or room_file.as_uri()) + fragment)
        if scripts:
            watched.page.get_by_text(SETTLED).wait_for()
        return watched.page

    yield open_one
    for context, watched, told in opened:
        assert watched.wrong == [] and told == []
        assert len({url for url in watched.asked if not url.startswith("blob:")}) == 1
        context.close()


def card(page, name):
    return page.locator(f"section.card[aria-label^={name}]")


def words(page, name):
    """The words that a reader shows, tinted."""
    return card(page, name).locator(".view").first.locator(".word")


def answers(page):
    """What every card's first bar says."""
    return page.locator(
        "section.card:visible tbody tr:first-child td:nth-child(3)"
    ).all_inner_texts()


def address_of(text, **further):
    return "#" + urlencode({"text": text} | further)


@contextmanager
def reading(page):
    """Whatever is done within is followed by a reading, which this waits for."""
    page.evaluate("document.querySelector('#took').textContent = ''")
    yield
    page.get_by_text("Read in").wait_for()


def open_all(page, name):
    """Press every visible button with that name."""
    for button in page.get_by_role("button", name=name).all():
        if button.is_visible():
            button.click()


def trace(page, name):
    """Open the trace of a reader; returns its drawer, when all of it is there."""
    button = page.locator(f"[aria-controls=inspect-{name}]")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    drawer = page.locator(f"#inspect-{name}")
    drawer.get_by_text("with shuffled ones").wait_for()
    return drawer


def read(page, text):
    """Type a text and wait until all four have read it."""
    with reading(page):
        page.get_by_label("Your text").fill(text)


def test_the_examples_are_readable_without_javascript(open_room):
    page = open_room(scripts=False)
    articles = page.locator("article")
    assert articles.count() == 6
    for article, example in zip(articles.all(), EXAMPLES, strict=True):
        assert article.is_visible() and example.title in article.inner_text()
        assert article.locator(".card").count() == (8 if example.beside else 4)
        tinted = article.locator(".tinted").first.locator("span").all_inner_texts()
        assert "".join(tinted) == example.text.replace(" ", "")
    assert page.get_by_label("Your text").count() == 0


def test_the_first_example_is_there_before_any_weights(browser, room_file, tmp_path):
    text = room_file.read_text(encoding="utf-8")
    start, end = text.index('id="bundle">') + len('id="bundle">'), text.rindex("</script>\n<script")
    path = tmp_path / "without.html"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert len(answers(page)) == 4
    assert "τ" not in card(page, "HAN").inner_text()
    page.get_by_label("leave-one-out").check()
    assert "τ" in card(page, "HAN").inner_text()
    page.get_by_text("The networks stopped").wait_for()
    page.close()


def test_a_click_erases_a_word_for_all_and_another_puts_it_back(open_room):
    page = open_room()
    before = answers(page)
    word = words(page, "HAN").nth(3)
    with reading(page):
        word.click()
    for name in ("HAN", "SANet", "IRAM", "AGT"):
        label = words(page, name).nth(3).get_attribute("aria-label")
        assert re.fullmatch(r"not: had weight [\d.]+, [\d.]+× uniform, erased(, unknown)?", label)
        assert words(page, name).nth(3).get_attribute("aria-selected") == "true"
    page.wait_for_url("**out=3**")
    word.click()
    page.wait_for_url(lambda url: "out=" not in url)
    assert word.get_attribute("aria-selected") == "false"
    assert answers(page) == before


def test_the_keyboard_alone_erases_moves_and_keeps_the_focus(open_room):
    page = open_room()
    page.get_by_label("Your text").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        role = page.evaluate(
            "(document.activeElement.shadowRoot?.activeElement ?? document.activeElement).role"
        )
        if role == "option":
            break
    focused = "document.activeElement.shadowRoot.activeElement.textContent"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "is"
    with reading(page):
        page.keyboard.press("Enter")
    assert page.evaluate(focused) == "is"
    label = "document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')"
    assert "erased" in page.evaluate(label)


def test_leave_one_out_grows_until_its_rank_correlation_is_whole(open_room):
    page = open_room(address_of("a good film and a bad one", tint="drops"))
    tau = card(page, "AGT").locator(".tau")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.card:not([hidden]) .tau')].every((one) =>"
        " one.textContent && !one.textContent.includes('so far'))"
    )
    assert "leave-one-out" in tau.inner_text()
    assert "without it" in words(page, "AGT").nth(1).get_attribute("aria-label")


def test_a_pin_is_left_out_word_by_word_too(open_room):
    page = open_room(address_of("a bad film", pin=urlencode({"text": "a good film"})))
    page.get_by_label("leave-one-out").check()
    pinned = card(page, "AGT").locator(".pinned")
    pinned.get_by_text(re.compile(r"leave-one-out: [^,]*$")).wait_for()
    assert "without it" in pinned.locator(".word").last.get_attribute("aria-label")


def test_a_pin_shows_both_readings_and_the_differences(open_room):
    page = open_room(address_of("a good film"))
    page.get_by_role("button", name="Pin this reading").click()
    read(page, "a bad film")
    han = card(page, "HAN")
    assert han.locator(".pinned .word").all_inner_texts() == ["a", "good", "film"]
    assert han.locator(".change").first.inner_text() != ""
    page.wait_for_url("**pin=**")
    page.get_by_role("button", name="Unpin").click()
    page.wait_for_function("() => !location.hash.includes('pin=')")
    assert not han.locator(".pinned").is_visible()


def saved_by(page):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as JSON").click()
    return json.loads(download.value.path().read_text(encoding="utf-8"))


def test_an_export_holds_the_readings_of_one_text_and_says_who_has_not_read_it(open_room):
    page = open_room(address_of(f"good {HOSTILE[1]}", out="0"))
    kept = saved_by(page)["readings"]
    assert [one["reader"]["record"] for one in kept] == list(IDS)
    assert kept[0]["erased"] == [0] and abs(sum(kept[0]["probabilities"]) - 1) < 1e-5
    page.get_by_label("Your text").fill("word " * 700)
    page.wait_for_timeout(400)  # some have read it, others are reading
    saved = saved_by(page)
    assert {one["text"] for one in saved["readings"]} <= {"word " * 700}
    assert len(saved["readings"]) + len(saved["not read yet"]) == 4


def test_what_is_read_aloud_is_the_answers_and_an_empty_text_says_so(open_room):
    page = open_room(address_of("a good film"))
    for place, name in (("cards", "results"), ("text", "text box")):
        page.get_by_role("link", name=f"Skip to the {name}").press("Enter")
        assert page.evaluate("document.activeElement.id") == place
    assert page.get_by_label("Your text").input_value() == "a good film"
    heard = page.locator(".heard[role=status]")
    heard.filter(has_text=re.compile("HAN: .*; SANet: .*; IRAM: .*; AGT: ")).wait_for(
        state="attached"
    )
    word, tip = words(page, "HAN").nth(1), card(page, "HAN").locator(".tip").first
    word.hover()
    with reading(page):
        word.click()
    assert re.match(r"had weight [\d.]+, .*, erased", tip.inner_text())
    assert tip.evaluate("tip => getComputedStyle(tip.parentElement).overflow") == "visible"
    page.get_by_label("Your text").fill("")
    page.locator("#took", has_text="There are no words to read.").wait_for()
    han = card(page, "HAN").inner_text()
    assert "Type a text" in han and "%" not in han


def test_a_reader_who_knows_few_of_the_words_says_so(open_room):
    page = open_room(address_of("film of a script"))
    card(page, "HAN").get_by_text("2 of 4 words unknown").wait_for()
    read(page, "the film was")
    card(page, "HAN").get_by_text("Knows only 1 of 3 words").wait_for()
    read(page, "the was")
    card(page, "HAN").get_by_text("Knows no word of it").wait_for()


def test_tints_bars_and_scale_keep_their_colours_where_colours_are_forced(open_room):
    for scripts in (True, False):
        page = open_room(scripts=scripts)
        what = [".tinted :nth-child(2 of span)", "tr:not(.most) i", "tr.most i", ".ramp"][
            : 4 if scripts else 3
        ]
        marks = [page.locator(f":is(#live, article) {one}").first for one in what]
        look = (
            "one => (({backgroundColor: c, backgroundImage: i}) => [c, i])(getComputedStyle(one))"
        )
        before = [mark.evaluate(look) for mark in marks]
        page.emulate_media(forced_colors="active")
        after = [mark.evaluate(look) for mark in marks]
        assert [before[0], before[3:]] == [after[0], after[3:]]
        assert ["rgb(255, 255, 255)", "none"] not in after and after[1] != after[2]
        if scripts:  # else the browser paints its own paper behind the letters
            chosen = page.locator(".examples [aria-pressed=true]")
            assert chosen.evaluate("one => getComputedStyle(one).forcedColorAdjust") == "none"


def test_a_tip_covers_neither_its_line_nor_the_next(open_room):
    page = open_room(address_of("a good film " * 9))
    words(page, "HAN").first.wait_for()
    all_words = words(page, "HAN").all()
    boxes = [word.bounding_box() for word in all_words]
    lines = sorted({box["y"] for box in boxes})
    assert len(lines) > 2
    for word, box in zip(all_words, boxes, strict=True):
        word.hover()
        tip = card(page, "HAN").locator(".tip").first.bounding_box()
        top, bottom = tip["y"] - box["height"], tip["y"] + tip["height"]
        covered = [y for y in lines if top < y < bottom]
        assert all(y < box["y"] < lines[-1] for y in covered)


def test_paper_has_a_line_of_settings_instead_of_controls(open_room):
    page = open_room(address_of("a good film", out="1", tint="drops", readers="han.agt"))
    line = page.get_by_text(
        "HAN (toy), AGT (toy). Tint: leave-one-out. 3 words, 1 erased by deletion."
    )
    assert not line.is_visible()
    page.emulate_media(media="print")
    assert line.is_visible() and not page.locator(".controls").is_visible()


def test_numbers_of_the_scale_stand_within_it_and_all_targets_are_large_enough(open_room):
    page = open_room("#example=order")
    page.get_by_label("leave-one-out").check()
    open_all(page, "Where it looks")
    ramp = page.locator(".scale .ramp").first.bounding_box()
    for number in page.locator(".scale .ticks span").all():
        box = number.bounding_box()
        assert ramp["x"] <= box["x"] and box["x"] + box["width"] <= ramp["x"] + ramp["width"] + 0.1
    targets = page.locator(":is(button, input, select, summary, textarea):visible").all()
    heights = {target.bounding_box()["height"] for target in targets}
    assert len(targets) > 20 and min(heights) >= 24


def test_results_are_on_the_first_screen_and_the_tour_among_the_first_stops(open_room):
    page = open_room()
    page.set_viewport_size({"width": 1440, "height": 900})
    bottoms = [box.bounding_box() for box in page.locator(".card .view:visible").all()]
    assert max(box["y"] + box["height"] for box in bottoms[:4]) < 900
    page.evaluate("document.activeElement.blur()")
    stops = []
    for _ in range(5):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent"))
    assert "Guided tour" in stops


@pytest.mark.parametrize("width", [1000, 1440])
def test_cards_of_a_row_stay_where_they_are_when_a_drawer_opens_below_them(open_room, width):
    page = open_room(width=width)
    places = "all => all.map(one => [one.offsetLeft, one.offsetTop])"
    cards = page.locator(".card:visible")
    before = cards.evaluate_all(places)
    card(page, "SANet").get_by_text("Where it looks").click()
    drawer = trace(page, "han").bounding_box()
    after = cards.evaluate_all(places)
    row = [place for place, old in zip(after, before, strict=True) if old[1] == before[0][1]]
    assert len(row) > 1 and row == before[: len(row)]
    assert after[len(row) :] == [] or after[len(row)][1] > before[len(row)][1]
    boxes = [one.bounding_box() for one in cards.all()[: len(row)]]
    assert drawer["y"] >= max(box["y"] + box["height"] for box in boxes)


@pytest.mark.parametrize("width", [400, 1000, 1440])
def test_bars_are_equally_long_and_their_numbers_are_of_one_kind(open_room, width):
    page = open_room(address_of("a good film"), width=width)
    page.locator("#pin").dispatch_event("click")  # in a fold on a phone
    read(page, "a bad film")
    wide = page.locator(".card:visible .bar").evaluate_all(
        "all => all.map(one => Math.round(one.getBoundingClientRect().width))"
    )
    assert len(wide) > 7 and max(wide) - min(wide) <= 1 and min(wide) > 30
    numbers = page.locator(".card:visible .bars td:not(.bar)").all_inner_texts()
    assert all(re.fullmatch(r"([+−]?[01]\.\d\d)?", number) for number in numbers)


def test_a_weight_is_traced_step_by_step_with_the_arrow_keys(open_room):
    page = open_room(address_of("a good film, not a bad one"))
    drawer = trace(page, "han")
    tabs = drawer.get_by_role("tab").all_inner_texts()
    assert tabs[:6] == ["word", "state", "layer", "score", "share", "sum"] and tabs[-2:] == [
        "answer",
        "tint",
    ]
    for name in tabs:
        assert drawer.get_by_role("tab", selected=True).inner_text() == name
        assert page.evaluate("document.activeElement.textContent") == name
        assert drawer.locator(".symbols .value").first.is_visible()
        page.keyboard.press("ArrowRight")
    assert drawer.locator(".place").inner_text() == f"Step {len(tabs)} of {len(tabs)}"
    page.keyboard.press("ArrowLeft")
    said = drawer.locator(".traced tbody tr td:nth-child(3)").all_inner_texts()
    assert said == card(page, "HAN").locator(".bars td:nth-child(3)").all_inner_texts()
    page.keyboard.press("ArrowRight")
    fact = words(page, "HAN").nth(1).get_attribute("aria-label")
    drawer.get_by_role("combobox", name="Word").select_option("good")
    drawer.get_by_text("“good”:").wait_for()
    weight = float(drawer.locator(".symbols .value").last.inner_text())
    assert abs(weight - float(re.search(r"weight ([\d.]+)", fact)[1])) < 0.01
    drawer.get_by_role("tab", name="score", exact=True).click()
    assert drawer.locator(".equation math msub").count() == 3
    assert drawer.get_by_role("img", name=re.compile("numbers from")).count() == 3
    page.keyboard.press("Escape")
    assert not drawer.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Trace a weight"


def test_every_reader_is_traced_and_a_new_text_is_traced_anew(open_room):
    page = open_room(address_of("a good film"))
    for name in IDS:
        drawer = trace(page, name)
        assert page.locator(".drawer:visible").count() == 1
        assert drawer.get_by_role("tab").all_inner_texts()[-2:] == ["answer", "tint"]
    read(page, "a dull story, badly told")
    drawer.locator(".slider", has_text="dull").wait_for()
    page.get_by_label("replace all weights by uniform ones").check()
    drawer.get_by_text("nothing to trace").wait_for()
    page.get_by_label("replace all weights by uniform ones").uncheck()
    drawer.get_by_text("with shuffled ones").wait_for()
    page.get_by_label("Your text").fill("")
    drawer.get_by_text("There are no words to read.").wait_for()


def test_a_click_on_a_word_traces_it_where_that_is_chosen(open_room):
    page = open_room(address_of("a good film"))
    page.get_by_label("traces its weight").check()
    words(page, "AGT").nth(1).click()
    drawer = page.locator("#inspect-agt")
    drawer.get_by_text("“good”:").wait_for()
    page.wait_for_function("document.activeElement.textContent === 'word'")
    page.keyboard.press("ArrowRight")
    assert drawer.get_by_role("tab", selected=True).inner_text() == "projection"
    step = drawer.get_by_role("tabpanel").bounding_box()
    assert 0 <= step["y"] < 900 - 200, "the step is in view"
    page.wait_for_url("**trace=agt.1")
    again = open_room("#" + page.url.partition("#")[2]).locator("#inspect-agt")
    again.get_by_text("“good”:").wait_for()
    assert words(page, "AGT").nth(1).get_attribute("aria-selected") == "false"


def test_a_weight_is_turned_by_keys_pointer_and_buttons_and_one_key_brings_it_back(open_room):
    page = open_room(address_of("a good film"))
    drawer = trace(page, "agt")
    sliders = drawer.get_by_role("slider")
    values = lambda: [float(one.input_value()) / 1000 for one in sliders.all()]  # noqa: E731
    own, said = values(), drawer.locator(".saw")
    assert len(own) == 3 and abs(sum(own) - 1) < 0.01
    word = drawer.get_by_label("weight of good")
    word.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    said.filter(has_text=re.compile("“good”: the answer ")).wait_for()
    assert values()[1] > own[1] and abs(sum(values()) - 1) < 0.01
    others = [values()[0] / own[0], values()[2] / own[2]]
    assert abs(others[0] - others[1]) < 0.02, "they keep their proportions"
    assert drawer.get_by_role("row", name="yours").is_visible()
    page.keyboard.press("r")
    said.filter(has_text="The answer is").wait_for()
    assert values() == own
    box = word.bounding_box()
    page.mouse.move(box["x"] + own[1] * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    said.filter(has_text="All the weight on “good”").wait_for()
    assert values() == [0, 1, 0]
    drawer.get_by_role("button", name="Reset").click()
    drawer.get_by_role("button", name="Twice").click()
    said.filter(has_text=re.compile("weight on “.*”.*: the answer ")).wait_for()
    drawer.get_by_label("The change holds").select_option("in this row alone")
    said.filter(has_text="with shuffled ones").wait_for()
    live = drawer.locator("output, [role=status], [aria-live]")
    assert live.count() == 1, "one sentence is announced, not every number"


def test_sliders_are_one_tab_stop_and_arrows_go_from_word_to_word(open_room):
    page = open_room(address_of("a good film"))
    drawer = trace(page, "agt")
    sliders = drawer.get_by_role("slider")

    def stops():
        named = "all => all.filter((one) => !one.tabIndex).map((one) => one.ariaLabel)"
        return sliders.evaluate_all(named)

    focused = "document.activeElement.getAttribute('aria-label')"
    (first,) = stops()
    drawer.get_by_role("button", name="Twice").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == first
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.type") != "range"
    before = [one.input_value() for one in sliders.all()]
    drawer.get_by_label("weight of a", exact=True).focus()
    for word in ("good", "film", "film"):
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) == f"weight of {word}" and stops() == [f"weight of {word}"]
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == "weight of good"
    assert [one.input_value() for one in sliders.all()] == before


LIGHT = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, part, i) => sum + (i % 4 < 3 ? part : 0), 0) / (0.75 * data.length);
}"""
RAMP = (
    "document.querySelector('#rows-han .view').shadowRoot.querySelector('.ramp').style.background"
)


def test_the_heatmap_is_light_by_day_and_dark_by_night(open_room):
    page = open_room(address_of("a good film, and not a bad one"))
    card(page, "HAN").get_by_text("Where it looks").click()
    canvas = page.locator("#rows-han canvas").first
    day, scale = canvas.evaluate(LIGHT), page.evaluate(RAMP)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"scale => {RAMP} !== scale", arg=scale)
    assert canvas.evaluate(LIGHT) < 100 < 150 < day
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"scale => {RAMP} === scale", arg=scale)
    assert canvas.evaluate(LIGHT) == day


def test_who_cannot_point_at_a_word_reads_the_strongest_tints(open_room):
    page = open_room(address_of("a good film"))
    assert not page.get_by_text("Largest weights").first.is_visible()
    page = open_room(address_of("a good film"), width=400, has_touch=True, is_mobile=True)
    line = card(page, "HAN").locator(".strongest")
    assert re.fullmatch(
        r"Largest weights: (“\W?\w+\W?” [\d.]+(, )?){3}", line.inner_text().replace("\u00a0", " ")
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_last_reader_says_why_it_stays(open_room):
    page = open_room(address_of("a good film", readers="han"))
    box = page.get_by_role("checkbox", name="HAN, toy")
    box.click()
    page.get_by_text("One reader has to stay").wait_for()
    assert box.is_checked()
    page.get_by_role("checkbox", name="AGT, toy").check()
    assert page.get_by_text("One reader has to stay").count() == 0


def test_a_phone_folds_the_controls_and_shows_the_first_answer_under_the_text(open_room):
    page = open_room(width=400)
    page.set_viewport_size({"width": 400, "height": 800})
    shown = words(page, "HAN").first.bounding_box()
    box = page.get_by_label("Your text").bounding_box()
    assert box["y"] + box["height"] < shown["y"] and shown["y"] + shown["height"] < 800
    assert not page.get_by_label("leave-one-out").is_visible()
    page.get_by_text("Tint, clicks, readers").click()
    assert page.get_by_label("leave-one-out").is_visible()


def test_what_is_still_to_be_read_is_marked_as_such(open_room):
    page = open_room()
    page.get_by_label("Your text").fill("word " * 700)
    page.locator("#took", has_text="Reading").wait_for()
    # after a moment, since most texts are read sooner
    page.locator(".card[aria-busy=true] .busy").first.wait_for(state="visible")
    page.get_by_text("Read in").wait_for()
    assert page.locator(".card[aria-busy=true]").count() == 0


def test_in_the_site_it_follows_the_sites_dark_and_links_to_lessons(browser, site_room):
    for mode, paper in (("dark", "rgb(22, 27, 34)"), ("light", "rgb(255, 255, 255)")):
        context = browser.new_context(color_scheme="light" if mode == "dark" else "dark")
        context.route("https://site.example/**", lambda route: route.fulfill(path=site_room))
        context.add_init_script(f"localStorage.setItem('mode', '{mode}')")
        page = context.new_page()
        page.goto("https://site.example/reading_room.html")
        page.get_by_text(SETTLED).wait_for()
        colour = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(colour) == paper
        worn = "one => one.style.getPropertyValue('--paper')"
        colours = page.evaluate("JSON.parse(told.textContent).colours")
        theme = colours["dark" if mode == "dark" else "theme"]
        assert page.locator(".card .view").first.evaluate(worn) == theme["paper"]
        drawer = trace(page, "agt")
        drawer.get_by_role("tab", name="gate").click()
        lesson = "06_agt_compositionality.html"
        assert card(page, "AGT").get_by_role("link").get_attribute("href") == lesson
        assert drawer.get_by_role("link").get_attribute("href") == f"{lesson}#exercise-gate"
        context.close()


def test_the_address_brings_everything_back(open_room):
    page = open_room(
        address_of(
            "one film",
            out="0",
            tint="drops",
            readers="agt.han",
            pin=urlencode({"text": "another film"}),
        )
    )
    assert page.get_by_label("Your text").input_value() == "one film"
    assert len(answers(page)) == 2
    assert page.get_by_label("leave-one-out").is_checked()
    pinned = card(page, "HAN").locator(".pinned .word")
    pinned.first.wait_for()
    assert pinned.all_inner_texts() == ["another", "film"]


ADDRESSES = [
    *("#" + urlencode({"text": text, "pin": urlencode({"text": text})}) for text in HOSTILE),
    "#text=%3Csvg+onload%3Dalert(5)%3E&readers=%3Cscript%3E&out=-1.999999.x&tint=%22&by=javascript:",
    "#example=__proto__&text=a",
    "#example=constructor",
    "#%E0%A4%A&text=%FF",
    "#text=a&out=" + "1." * 9,
]


@pytest.mark.parametrize("fragment", ADDRESSES)
def test_an_address_injects_nothing(open_room, fragment):
    page = open_room(fragment)
    assert page.locator("main :is(img, iframe, svg, object, script)").count() == 0
    links = page.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert set(links) == {"#text", "#cards"}
    assert page.evaluate("document.querySelectorAll('script').length") == 4


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_screen(open_room, width):
    page = open_room("#example=order", width=width)
    read(page, "x" * 300 + " " + " ".join(HOSTILE))
    open_all(page, "Where it looks")
    for name in IDS:
        trace(page, name)
        for tab in page.locator(f"#inspect-{name}").get_by_role("tab").all():
            tab.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


OUTSIDE = """() => [...document.querySelectorAll('.card:not([hidden]), .drawer:not([hidden])')]
    .flatMap((box) => [...box.querySelectorAll('*')].filter((one) => {
        const [inner, outer] = [one.getBoundingClientRect(), box.getBoundingClientRect()];
        return inner.width && inner.right > outer.right + 0.5 && !one.closest('.equation, .heard');
    })).map((one) => one.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [400, 1280])
def test_every_step_is_in_sight_and_nothing_leaves_its_card(open_room, width):
    text = "It is un" + "believ" * 9 + "able, not internationalisation. " + "Really bad. " * 3
    page = open_room(address_of(text, pin=urlencode({"text": "a bad film"})), width=width)
    for name in IDS:
        drawer = trace(page, name)
        tabs = drawer.get_by_role("tab")
        for tab in tabs.all():
            box = tab.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
        for _ in range(tabs.count()):
            assert page.evaluate(OUTSIDE) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert not re.search(r"10\s*\^", drawer.locator(".trace").inner_text())
            page.keyboard.press("ArrowRight")
        assert tabs.last.get_attribute("aria-selected") == "true"


def test_small_weights_and_other_weights_than_the_tints_are_told(open_room):
    page = open_room(address_of("good " * 300 + "film"))
    drawer = trace(page, "iram")
    assert drawer.locator(".slider .is").first.inner_text() == "0.003"
    read(page, "a good film")
    drawer.get_by_text("These are the weights of step").wait_for()
    drawer.get_by_text("the step “tint” shows how").wait_for()
    for name in ("agt", "han"):
        values = trace(page, name).locator(".slider").first.get_by_role("slider")
        assert ", its own weight " in values.get_attribute("aria-valuetext")


def test_an_example_gives_the_readers_own_text_back(open_room):
    page = open_room()
    back = page.get_by_role("button", name="Back to your text")
    assert not back.is_visible()
    page.get_by_label("leave-one-out").check()
    read(page, "a film of my own")
    assert not back.is_visible()
    page.get_by_role("button", name="Irony").click()
    back.click()
    assert page.get_by_label("Your text").input_value() == "a film of my own"
    assert page.get_by_label("leave-one-out").is_checked()
    assert not back.is_visible()


def test_no_panel_keeps_a_text_that_is_gone(open_room):
    page = open_room()
    card(page, "HAN").get_by_text("Where it looks").click()
    rows = page.locator("#rows-han")
    assert rows.get_by_role("heading").evaluate("one => one === document.activeElement")
    assert rows.bounding_box()["y"] < 900 - 100, "the panel is in view"
    page.get_by_label("Your text").fill("")
    page.locator("#took", has_text="There are no words to read.").wait_for()
    assert not rows.is_visible()


def test_who_reads_no_more_is_not_read_aloud(open_room):
    page = open_room(address_of("a good film"))
    heard = page.locator(".heard[role=status]")
    heard.filter(has_text="AGT: ").wait_for(state="attached")
    page.get_by_role("checkbox", name="AGT, toy").uncheck()
    heard.filter(has_not_text="AGT: ", has_text="HAN: ").wait_for(state="attached")


@pytest.mark.parametrize("forced", ["none", "active"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(open_room, scheme, forced):
    page = open_room("#example=order", color_scheme=scheme, forced_colors=forced)
    page.get_by_role("button", name="Guided tour").click()
    for fold in page.locator("details summary").all():
        if fold.is_visible():
            fold.click()
    open_all(page, "Where it looks")
    trace(page, "sanet")
    found = Axe().run(page).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"]) for rule in found] == []


def test_the_rows_are_drawn_when_they_are_opened(open_room):
    page = open_room()
    han = card(page, "HAN")
    assert han.locator("canvas").count() == 0
    han.get_by_text("Where it looks").click()
    drawer = page.locator("#rows-han")
    heading = drawer.get_by_role("application").get_attribute("aria-label")
    assert heading.startswith("Attention heatmap")
    drawer.get_by_label("Which attention").select_option("sentences")
    assert drawer.locator("canvas").count() == 2
    drawer.get_by_role("button", name="Close").click()
    assert not drawer.is_visible() and page.locator("canvas").count() == 0


@pytest.mark.parametrize("width", [400, 1440])
def test_the_tour_has_six_steps_and_ends(open_room, width):
    page = open_room(width=width)
    page.get_by_role("button", name="Guided tour").click()
    tour = page.get_by_role("region", name="Guided tour")
    for step in range(1, 7):
        assert tour.get_by_role("heading").inner_text().startswith(f"{step} of 6")
        assert page.evaluate("document.activeElement.tagName") == "H2"
        assert page.locator(".pointed").is_visible()
        if step == 3:  # the panel, at its first step
            drawer = page.locator("#inspect-han")
            drawer.get_by_text("Step 1 of").wait_for()
            shown = drawer.get_by_role("tabpanel").get_by_role("heading")
        else:
            shown = card(page, "HAN").locator(".bars")
        shown, told = shown.bounding_box(), tour.bounding_box()
        assert 0 <= shown["y"] <= 900 - shown["height"]  # the answer, and not behind the panel
        assert shown["y"] > told["y"] + told["height"] or shown["y"] + shown["height"] < told["y"]
        covered = page.get_by_label("Your text").bounding_box()
        assert covered["y"] + covered["height"] <= told["y"] or covered["y"] < 0
        page.keyboard.press("Tab")
        if step > 1:
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    assert not tour.is_visible() and page.locator(".pointed").count() == 0
    assert page.locator(".drawer:visible").count() == 0


def test_the_end_of_the_tour_brings_back_what_was_typed_and_pinned(open_room):
    page = open_room()
    read(page, "a good film")
    page.get_by_role("button", name="Pin this reading").click()
    read(page, "a bad film")
    page.get_by_role("button", name="Guided tour").click()
    page.get_by_role("button", name="Next stop").click()
    page.keyboard.press("Escape")
    assert page.get_by_label("Your text").input_value() == "a bad film"
    pinned = card(page, "HAN").locator(".pinned")
    pinned.get_by_role("option", name="good").wait_for()


def test_over_http_it_asks_for_nothing_but_itself(open_room):
    page = open_room(address="https://room.example/reading_room.html")
    read(page, "a good film")
    assert len(answers(page)) == 4


def test_motion_is_reduced_where_a_reader_asks_for_that(open_room):
    page = open_room(reduced_motion="reduce")
    style = "getComputedStyle(document.querySelector('.bar i')).transitionDuration"
    assert page.evaluate(style) == "0s"
