"""What stands in the page without JavaScript: the examples with their readings, and who reads."""

from collections.abc import Sequence
from typing import Any

from course_kit.reading_room.page.markup import Markup, element, joined

CLIP = 4  # times the weight of uniform attention: the strongest tint
STATIC_TINTS = 17


def tint_rules(tints: Sequence[str], night: str) -> str:
    """A style rule for every tint, with what ``night`` makes of it in the dark, and for every
    percent of a bar."""
    last = len(tints) - 1
    chosen = [tints[round(i / (STATIC_TINTS - 1) * last)] for i in range(STATIC_TINTS)]
    rules = [
        f".t{i}{{background:light-dark({colour}, {night.format(colour)})}}"
        for i, colour in enumerate(chosen)
    ]
    return "".join([*rules, *(f".w{percent}{{width:{percent}%}}" for percent in range(101))])


def example(told: dict[str, Any], networks: Sequence[dict[str, Any]]) -> Markup:
    """An example with a card for each network that has read it."""
    shown = [
        part
        for text, readings in zip(told["texts"], told["readings"])
        for part in (element("blockquote", text), _cards(readings, networks))
    ]
    title, watch = element("h3", told["title"]), element("p", told["watch"])
    return element("article", title, watch, *shown)


def _cards(readings: dict[str, Any], networks: Sequence[dict[str, Any]]) -> Markup:
    cards = [_card(one, readings[one["id"]]) for one in networks if one["id"] in readings]
    return element("div", *cards, class_="cards")


def _card(network: dict[str, Any], read: dict[str, Any]) -> Markup:
    """One network's answer as bars, and the words in their tints."""
    title, dataset = network["title"], network["dataset"]
    parts = [
        element("h4", title, " ", element("span", dataset)),
        element("table", element("tbody", *_bars(network, read)), class_="bars"),
        element("p", joined(_tinted(read), " "), class_="tinted"),
    ]
    if read["tau"] is not None:
        tau = f"{read['tau']:.2f}".replace("-", "−")
        parts.append(element("p", f"τ with leave-one-out: {tau}", class_="small"))
    return element("section", *parts, class_="card", aria_label=f"{title}, {dataset}")


def _bars(network: dict[str, Any], read: dict[str, Any]) -> list[Markup]:
    rows = []
    for name, probability in zip(network["classes"], read["probabilities"]):
        share = round(100 * probability)
        most = {"class_": "most"} if probability == max(read["probabilities"]) else {}
        bar = element("td", element("i", class_=f"w{share}"), class_="bar")
        head = element("th", name, scope="row")
        rows.append(element("tr", head, bar, element("td", f"{probability:.2f}"), **most))
    return rows


def _tinted(read: dict[str, Any]) -> list[Markup]:
    tokens = [token for sentence in read["tokens"] for token in sentence]
    count = len(read["word"])
    return [
        element("span", token, class_=f"t{_step(weight, count)}")
        for token, weight in zip(tokens, read["word"])
    ]


def _step(weight: float, count: int) -> int:
    """Which of the static tints a word wears that holds this weight among so many."""
    return round(min(weight * count, CLIP) / CLIP * (STATIC_TINTS - 1))


def who_reads(network: dict[str, Any]) -> Markup:
    """One line about a network."""
    accuracy = network["accuracy"]
    right = "" if accuracy is None else f": {100 * accuracy:.1f} % of the test texts are right"
    vectors = f"vectors {network['vectors']}; record {network['record']}"
    name = f"{network['title']}, {network['dataset']}"
    return element("li", f"{name}{right}; {vectors}. {network['about']}")
