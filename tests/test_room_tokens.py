"""The reading room's tokens are NLTK's: words, sentences, and the words a vocabulary knows."""

import unicodedata
from itertools import chain

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from networks import bert_ids, save_pieces
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from typed_texts import TYPED

from course_kit.reading_room.pack import punkt_parameters
from course_lib.data.pieces import Pieces, whole_words
from course_lib.data.readers import clean
from course_lib.data.text import normalised, tokenise, treebank_words, untrained_punkt

HOSTILE = (
    "",
    " ",
    "a",
    ".",
    "...",
    "'",
    '"',
    "''",
    "``",
    "--",
    "a--b",
    "(a)",
    "[b]{c}<d>",
    "****",
    "I can't won't shan't; he's, she'd, we'll, they've, I'm: N'T 'S 'LL O'Neill's",
    "cannot CANNOT",
    "gimme gonna gotta lemme wanna wanna-be d'ye more'n 'tis 'Twas 'tıs GİMME ſ'S",
    "rock 'n' roll",
    'He said: "Stop!" (Really?) "\'Twas nothing."',
    "“curly” ‘quotes’ «chevrons» „low‟",
    "3,5 3:5 a,b a:b ,x x, x: 1,000.50 $3.88 #4 @me 50% A&B;",
    "An ex-Mr. is out.",
    "U.S. Ph.D. e.g. i.e. Mr. A. B.",
    "End. ",
    "End.) ",
    'End."',
    "End.'",
    "End.»”’ \t",
    "two. ends.\n",
    "a .  b .",
    "a..b ... c ....",
    "x‒y–z—w―v",
    "tab\tand\nline\r\nbreaks\x0b\x0c",
    "\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000",
    "\ufeff",
    "naïve café ÆØÅ straße ΑΣ ΑΣ. İstanbul",
    "中文。句子！",
    "שלום עולם. مرحبا بالعالم!",
    "e\u0301t\u0301'es",
    "😀👩‍👩‍👧🏽 wow!!!",
    "'😀",
    "a'b'c 'b'",
    "'s 'll'x 't's",
    "\u200d'\u200cx",
    "١٢٣,٤ ٥.",
    "x²'y",
    "<script>alert('x')</script>",
    "\\d $& $1 \\1 ${x}",
    "a" * 300 + "." + " " * 30 + "b",
    "!?" * 40,
    "'" * 30,
    '"' * 31,
    ". " * 30,
    "-" * 9,
    "' " * 9,
    "`" * 5,
    "-- " * 9,
    "''" + "``" * 3,
)
ALPHABET = (
    "\u200b\u200c\xad\xb4\ufb01&#39;"
    ".,:;!?'\"`()[]{}<>-*@#$%&“”‘’«»– \n\tabsntllvermdXSTN19éſıİ中\u0301\u200d😀\x1f\xa0"
)
KNOWN = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
hostile_text = st.one_of(
    st.text(ALPHABET, max_size=40),
    st.lists(
        st.sampled_from(
            [
                "can",
                "not",
                "'t",
                "is",
                "was",
                "n't",
                "'ll",
                " ",
                " ",
                ".",
                "...",
                ". . .",
                "Mr.",
                "A.",
                "B",
                "e.g.",
                "3.",
                "etc.",
                "said",
                "The",
                "the",
                "?",
                "!",
                '"',
                "\n",
                ",",
                ")",
            ]
        ),
        max_size=20,
    ).map("".join),
    st.text(st.sampled_from(KNOWN), max_size=12),
)
PARAMETERS = PunktParameters()
PARAMETERS.abbrev_types = {"mr", "e.g", "etc", "b"}
PARAMETERS.collocations = {("##number##", "the"), ("etc", "said")}
PARAMETERS.sent_starters = {"the", "said"}
PARAMETERS.ortho_context.update({"the": 2 + 16 + 32, "said": 32, "b": 4, "is": 2 + 32, "was": 8})
INVENTED = PunktSentenceTokenizer(PARAMETERS)


def taught(splitter):
    """A splitter's parameters as the engine's functions take them."""
    stored = punkt_parameters(splitter)
    sets = {name: {"set": stored[name]} for name in ("abbreviations", "collocations", "starters")}
    return sets | {"context": {"map": stored["context"]}}


def test_words_of_hostile_texts(engine):
    for text in HOSTILE:
        assert engine("tokens", "words", text) == treebank_words().tokenize(text)


@settings(max_examples=150)
@given(hostile_text)
@example("a,\n")
@example("x.\n'")
@example("a<br\x1c/>b <br>c<br\t/ >")
def test_words_of_any_text_and_how_it_is_cleaned(engine, text):
    assert engine("tokens", "words", text) == treebank_words().tokenize(text)
    assert engine("tokens", "clean", text) == clean(text)
    assert engine("tokens", "normalised", text) == normalised(text)


def test_the_page_takes_what_is_typed_as_python_does(engine):
    for typed, taken in TYPED:
        assert engine("tokens", "normalised", typed) == taken


@pytest.mark.parametrize("splitter", [untrained_punkt(), INVENTED], ids=["untrained", "invented"])
def test_sentences_of_hostile_texts(engine, splitter):
    for text in HOSTILE:
        assert engine("sentences", "sentences", text, taught(splitter)) == splitter.tokenize(text)


@settings(max_examples=150)
@given(hostile_text)
@example("It cost 3. Xyzzy came.")
@example("He waited... The end.")
@example('He met Mr. B. (It was 3. the end.) "Etc." said I. e.g. The end!! No')
def test_sentences_of_any_text(engine, text):
    expected = INVENTED.tokenize(text)
    assert engine("sentences", "sentences", text, taught(INVENTED)) == expected


def test_a_sentence_without_a_word_is_dropped(engine):
    for text in ("", "  ", "a. \x1f. b", ". . ."):
        tokens, lengths = tokenise(text, untrained_punkt())
        found = engine("sentences", "tokenise", text, taught(untrained_punkt()))
        assert [word for sentence in found for word in sentence] == tokens
        assert list(map(len, found)) == lengths


SIGNS = set("abcdefghijklmnopqrstuvwxyz0123456789.,!?#[]'-<>/中文é")
PIECES = bert_ids({*SIGNS, *(f"##{sign}" for sign in SIGNS), "the", "##ing", "un", "##able"})
ODD = (
    "[SEP]",
    "a [CLS] b[MASK]c [UNK]",
    "##ing ing",
    "a" * 100,
    "b" * 101,
    "é" * 60,
    "unaffable thing",
    "naïve CAFÉ e\u0301",
    "中文字a中",
    "😀 a😀b 👩‍👩‍👧",
    "ΑΣ İstanbul ſ ß ǅ",
    "a\x00b\x07c\ufffdd\u200be\xad",
    "a\tb\nc\rd\x0be\x85f\u2028g\u3000h",
    "\ue000 \U000f0000",
    "₂ ² ½ ﬁ",
    "“a” —b… ‖ ~^`$+<=>|",
    "ทดสอบ กำ",
    "שָׁלוֹם مرحبًا हिन्दी 한국어 が",
    "\U0002b830 \U0002f800 \u3400 々〆",
    "\u0378 \U0001fae8",
)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces") / "tokenizer.json"
    save_pieces(path, PIECES)
    return Pieces(path)


def same_pieces(engine, pieces, text):
    known = {"set": [*PIECES]}
    (expected,) = pieces.split([text])
    words = engine("pieces", "bertWords", text, known)
    assert words == whole_words(expected, [0] * len(expected))[0]
    cut = (engine("pieces", "wordPieces", word, known) for word in words)
    assert [*chain.from_iterable(cut)] == expected


@pytest.mark.parametrize("text", [*HOSTILE, *ODD])
def test_pieces_are_those_of_the_tokenizers_library(engine, pieces, text):
    same_pieces(engine, pieces, text)


@settings(max_examples=200)
@given(hostile_text)
def test_pieces_of_any_text_are_too(engine, pieces, text):
    same_pieces(engine, pieces, text)
