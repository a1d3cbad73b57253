import pytest
from archives import saved, zip_of
from hypothesis import given
from hypothesis import strategies as st
from typed_texts import TYPED

from course_lib.data.catalog import CARDS, Card, Source
from course_lib.data.readers import clean
from course_lib.data.text import fetch_punkt, normalised, tokeniser, trained_punkt
from course_lib.files import DataError

INSIDE = CARDS["punkt_tab"].sources[0].member
PARAMETERS = {
    "abbrev_types.txt": b"dr\nmr\n",
    "collocations.tab": b"",
    "ortho_context.tab": b"",
    "sent_starters.txt": b"",
}


def in_sentences(found):
    """The words of each sentence of a ``TokenisedText``."""
    words = iter(found.tokens)
    sentences = [[next(words) for _ in range(length)] for length in found.sentence_lengths]
    assert list(words) == [] and all(sentences)
    return sentences


@pytest.fixture
def punkt_package(tmp_path, monkeypatch):
    """Makes a package with splitter parameters that we made up the one in the catalog."""

    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))

    def make(parameters):
        package = zip_of({INSIDE + name: data for name, data in parameters.items()})
        file = saved(tmp_path / "downloads" / "punkt.whl", package)
        card = Card("punkt_tab", *[""] * 4, sources=(Source("made-up", (file,), member=INSIDE),))
        monkeypatch.setitem(CARDS, "punkt_tab", card)

    return make


ENGLISH = {
    "The END came. I Didn't cry!": [["The", "END", "came", "."], ["I", "Did", "n't", "cry", "!"]],
    'He said "no".': [["He", "said", "``", "no", "''", "."]],
    clean("It was <br /><br />Good.<br />Really."): [["It", "was", "Good", "."], ["Really", "."]],
    **{blank: [] for blank in ("", " ", "\n\t", "\u00a0")},
}
UNICODE = {
    text: [sentence.split() for sentence in sentences.split(" | ")]
    for text, sentences in (
        ("Don't re-read mp3s; 3.14 of 1,000!", "Don't re-read mp3s ; 3.14 of 1,000 !"),
        ("„Wie schön.“ Größe zählt … Ende", "„ Wie schön . “ | Größe zählt … | Ende"),
        ("यह अच्छी है। हाँ!", "यह अच्छी है । | हाँ !"),
        ("هل هذا جيد؟ نعم.", "هل هذا جيد ؟ | نعم ."),
        ("映画は良い。「はい。」終", "映 画 は 良 い 。 | 「 は い 。 」 | 終"),
        ("Café 👍🏽 👩\u200d🚀", "Café 👍🏽 👩\u200d🚀"),
        ("हिन्दी में می\u200cخواهم", "हिन्दी में می\u200cخواهم"),
    )
} | {
    " \n ": [],
}
TOKENS = {"8\xa01/2  is\tone": [["8\xa01/2", "is\tone"]], "": []}
TABLES = {"untrained": ENGLISH, "unicode": UNICODE, "tokens": TOKENS}


@pytest.mark.parametrize("name", TABLES)
def test_the_words_of_a_text(name):
    found = {text: in_sentences(tokeniser(name)(text)) for text in TABLES[name]}
    assert found == TABLES[name]


@pytest.mark.parametrize(("typed", "taken"), TYPED)
def test_what_people_type_and_paste_is_taken_for_what_it_means(typed, taken):
    assert normalised(typed) == taken


def test_a_negation_with_the_apostrophe_of_phones_is_kept():
    words = tokeniser("untrained")(normalised("It doesn’t work, can’t it?")).tokens
    assert words == ["It", "does", "n't", "work", ",", "ca", "n't", "it", "?"]


@given(st.text())
def test_no_token_holds_white_space_and_no_sentence_is_empty(text):
    for name in ("untrained", "unicode"):
        for sentence in in_sentences(tokeniser(name)(clean(text))):
            assert all(len(token.split()) == 1 and token == token.strip() for token in sentence)


def test_the_trained_splitter_knows_the_abbreviations_of_its_package_unpacked_once(
    punkt_package, tmp_path
):
    punkt_package(PARAMETERS)
    folder = fetch_punkt()
    (tmp_path / "downloads" / "punkt.whl").unlink()
    assert fetch_punkt() == folder
    assert {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == PARAMETERS
    text = "I met Dr. Smith. He left."
    assert tokeniser("english", folder)(text).sentence_lengths == [5, 3]
    assert tokeniser("untrained")(text).sentence_lengths == [4, 2, 3]


def test_package_without_the_splitter_parameters_is_named_and_leaves_nothing(
    punkt_package, tmp_path
):
    punkt_package({name: PARAMETERS[name] for name in list(PARAMETERS)[:2]})
    with pytest.raises(DataError, match=r"punkt\.whl: .*ortho_context"):
        fetch_punkt()
    assert not [path for path in (tmp_path / "prepared").rglob("*") if path.is_file()]


def test_real_splitter_knows_english_abbreviations_without_a_download(
    tmp_path, monkeypatch, no_network
):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    splitter = trained_punkt(fetch_punkt())
    assert splitter.tokenize("Mr. Lee met Dr. Smith at 8 p.m. in Washington. He left.") == [
        "Mr. Lee met Dr. Smith at 8 p.m. in Washington.",
        "He left.",
    ]
