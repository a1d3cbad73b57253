"""The reading room's page, as far as it needs no browser: what it claims, and what it holds."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from course_kit.reading_room.pack import NAMES
from course_kit.reading_room.packed import Packed
from course_kit.reading_room.page import assembly, build
from course_kit.reading_room.page.examples import (
    AGT,
    EXAMPLES,
    FILMS,
    HAN,
    IRAM,
    NEWS,
    READERS,
    RECORDED,
    TRANSFORMER,
    read_by,
)
from course_kit.reading_room.page.readings import INTRODUCTIONS, facts, reading
from course_kit.reading_room.page.still import who_reads
from course_lib import cli
from course_lib.data.text import tokenise, untrained_punkt
from course_lib.files import REPOSITORY
from course_lib.runs import load_recorded
from course_lib.views.colours import SIGNED


@pytest.fixture(scope="module")
def runs():
    return {name: load_recorded(name) for name in RECORDED}


class Read:
    """What a recorded network reads in a text of ours."""

    def __init__(self, run, text):
        self.kept = reading(run, tokenise(text, untrained_punkt()))
        self.words = [word for part in self.kept["tokens"] for word in part]
        self.answer = run.system.classes[int(np.argmax(self.kept["probabilities"]))]

    def top(self, count, of="word"):
        return {self.words[i] for i in np.argsort(self.kept[of])[-count:]}


@pytest.fixture(scope="module")
def read(runs):
    """``read(example, id)``: what a network reads in an example's text."""
    texts = {each.name: each.text for each in EXAMPLES} | {
        f"{each.name} beside": each.beside for each in EXAMPLES
    }
    return lambda name, reader: Read(runs[reader], texts[name])


@pytest.mark.full
def test_examples_are_read_as_the_page_claims(read):
    for reader in (HAN, FILMS, TRANSFORMER):
        negation, irony = read("negation", reader), read("irony", reader)
        assert (negation.answer, negation.top(1, "drops")) == ("negative", {"bad"})
        assert (irony.answer, irony.top(1, "drops")) == ("positive", {"great"})
    assert read("irony", IRAM).top(1) == {"never"}
    topics, review = read("topics", NEWS), read("review", HAN)
    assert (topics.answer, topics.top(1)) == ("Sports", {"shares"})
    assert review.answer == "negative"
    assert len(review.kept["attention"]["sentences"]["weights"][0]) == 4


def test_agt_gives_both_orders_the_same_probabilities_and_the_others_do_not(read):
    for reader in READERS:
        one, other = (read(f"order{kind}", reader).kept for kind in ("", " beside"))
        change = np.subtract(one["probabilities"], other["probabilities"])
        assert (np.abs(change).max() < 1e-5) == (reader == AGT)


def test_two_facts_are_attended_to_and_one_is_needed(read):
    for reader in READERS:
        one = read("two-facts", reader)
        assert one.top(2) == {"beautiful", "mess"}
        if reader in (HAN, IRAM):
            drops = dict(zip(one.words, one.kept["drops"], strict=True))
            assert drops["mess"] > 0.5 > 0.1 > abs(drops["beautiful"])


def test_a_reading_has_a_number_for_every_word(read):
    one = read("review", IRAM)
    kept, count = one.kept, len(one.words)
    assert len(kept["word"]) == len(kept["drops"]) == count
    assert [len(row) for row in kept["attention"]["steps"]["weights"]] == [count + 2] * 3
    sizes = [list(map(len, kept[name])) for name in ("known", "read", "tokens")]
    assert sizes[0] == sizes[1] == sizes[2]
    assert -1 <= kept["tau"] <= 1


def test_a_transformers_heads_are_there_and_their_mean_is_the_layers(read):
    views = read("two-facts", TRANSFORMER).kept["attention"]
    assert list(views)[:3] == ["rollout", "layer 1", "layer 2"] and len(views) == 3 + 2 * 4
    heads = [views[f"layer 2 · head {head}"]["weights"] for head in (1, 2, 3, 4)]
    assert np.abs(np.mean(heads, 0) - views["layer 2"]["weights"]).max() < 1e-3


def test_every_example_says_what_to_watch_on_the_pre_trained_page():
    for ours, each in zip(read_by("mine"), EXAMPLES, strict=True):
        assert (ours.text, ours.readers) == (each.text, ("mine",))
        assert "HAN" not in ours.watch != each.watch


def test_a_text_beyond_the_cut_is_no_example(runs):
    with pytest.raises(ValueError, match=r"text has \d+ words beyond the cut of han-imdb-compact"):
        Read(runs[HAN], "word " * 2000)


def test_facts_name_record_data_vectors_and_accuracy(runs):
    told = facts(runs[NEWS])
    assert told["record"] == NEWS and told["data"] == "AG News"
    assert told["vectors"] == "reviews.100d (100-d, trained on film reviews)"
    assert 0.87 < told["accuracy"] < 0.88


def test_every_reader_is_introduced_in_a_line_with_the_lesson_that_builds_it():
    assert set(INTRODUCTIONS) == set(NAMES)
    for about, lesson, tint in INTRODUCTIONS.values():
        assert len(about) < 90 and "word" in tint
        assert (REPOSITORY / "notebooks" / f"{lesson}.ipynb").exists()


def test_a_reader_is_told_of_with_its_accuracy_where_there_is_one(runs):
    told = facts(runs[NEWS])
    assert f": {100 * told['accuracy']:.1f} % of the test texts are right; " in who_reads(told)
    assert "%" not in who_reads(told | {"accuracy": None})


def test_the_middle_of_the_signed_colours_is_zero():
    colours = build.COLOURS["signed"]
    middle, odd = divmod(len(colours), 2)
    shown = colours[0], colours[middle], colours[-1]
    assert odd and shown == tuple(to_hex(SIGNED(share)) for share in (0.0, 0.5, 1.0))


def test_the_pre_trained_page_alone_says_how_to_get_the_smaller_networks():
    small, large = (assembly.page(packed(pretrained=each), []) for each in (False, True))
    command = "<code>attention-course room</code>"
    assert command in large and command not in small


def test_strings_cannot_end_the_element_that_holds_them():
    value = {"</script><script>": "<!-- \u2028 ' \""}
    text = assembly._data(value)
    assert "<" not in text and json.loads(text) == value


def test_the_policy_names_the_script_and_the_styles_by_their_digests():
    policy = assembly._policy("one()", "a{}")
    digest = base64.b64encode(hashlib.sha256(b"one()").digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy and policy.count("'sha256-") == 3
    assert "unsafe" not in policy and "default-src 'none'" in policy


def packed(networks=(), readings=None, pretrained=False):
    """Networks of which nothing was computed."""
    colours = {"tints": ["#ffffff"], "night": "{}"}
    return Packed(b"", [*networks], readings or {}, colours, pretrained)


def told_in(page):
    """What a page is told, as its script reads it."""
    return json.loads(re.search(r'id="told">(.*?)</script>', page)[1])


def test_a_run_of_your_own_joins_the_readers_of_every_example():
    texts = [text for each in EXAMPLES for text in (each.text, each.beside)]
    read = {text: dict.fromkeys(RECORDED, text) for text in texts}
    told = told_in(assembly.page(packed(readings=read), own=["mine", HAN]))["examples"]
    assert [each["name"] for each in told] == [each.name for each in EXAMPLES]
    assert all(each["readers"][-1] == "mine" and each["readers"].count(HAN) == 1 for each in told)
    assert all("mine" not in one for each in told for one in each["readings"])
    assert all(each["readings"][0][HAN] == each["texts"][0] for each in told)


class Named:
    """A run of which only the id is asked."""

    def __init__(self, name):
        self.record = {"id": name}


def test_the_command_packs_the_recorded_networks_with_your_runs(monkeypatch, tmp_path, capsys):
    texts = [text for each in EXAMPLES for text in (each.text, each.beside)]
    read = {text: dict.fromkeys(RECORDED, text) for text in texts}

    def packed_anew(runs):
        assert list(runs) == [*RECORDED, "mine"]
        return packed(readings=read)

    monkeypatch.setattr(build, "open_runs", lambda names: [Named(str(name)) for name in names])
    monkeypatch.setattr(build, "packed", packed_anew)
    monkeypatch.setattr("course_kit.publishing.commands.check_finished", lambda folder: None)
    assert cli.main(["room", "mine", "--to", str(tmp_path / "room.html")]) == 0
    assert str(tmp_path / "room.html") in capsys.readouterr().out
    told = told_in((tmp_path / "room.html").read_text(encoding="utf-8"))["examples"]
    assert all(each["readers"][-1] == "mine" for each in told)


@pytest.mark.parametrize("pretrained", [False, True])
def test_a_page_that_is_passed_on_alone_links_to_no_other(pretrained):
    links = re.compile(r'<a href="([^#"][^"]*)"')
    nothing = packed(pretrained=pretrained)
    assert links.findall(assembly.page(nothing, [])) == []
    in_site = links.findall(assembly.page(nothing, [], in_site=True))
    assert in_site == ["index.html", "audits.html"]
