"""Split texts into sentences and words, in the case they have: by NLTK's Punkt and Treebank, or by
Unicode words of any language."""

import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import lazy_loader as lazy
import regex

from course_lib.data.catalog import card
from course_lib.data.readers import clean, readable
from course_lib.data.sources import obtain
from course_lib.files import atomic_path, prepared_folder

PUNKT_FILES = ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt")

nltk = lazy.load("nltk")  # which takes a second to import

TOKENISERS = {
    "english": "NLTK's English sentences (Punkt) and Treebank words, as the papers",
    "unicode": "Unicode words and sentences, without the rules of any language",
    "untrained": "Treebank words, and sentences without a list of abbreviations",
}
UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
SENTENCE_END = re.compile(
    r"(?<=[.!?…؟۔])\s+|(?<=[.!?…؟۔][\"'»«“”’)\]])\s+|(?<=[。！？।॥])(?![」』”’）])|(?<=[。！？][」』”’）])"
)
# Characters that people type and paste, which `normalised` replaces by those that tokenisers know;
# the reading room does the same (the cases of tests/typed_texts.py test both).
REFERENCE = regex.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));")
NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " "}
LIGATURE = regex.compile("[\ufb00-\ufb06]")
LIGATURES = ("ff", "fi", "fl", "ffi", "ffl", "st", "st")  # in the order of their code points
ODD_SPACE = regex.compile(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# a zero-width space ends a word in scripts without blanks (Thai, Lao, Burmese, Khmer)
BREAK = regex.compile(r"(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b+(?=[\u0e00-\u17ff])")
# soft hyphens, zero-width spaces, marks of the direction of writing, byte order marks
INVISIBLE = regex.compile(r"[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
LOOSE_JOINER = regex.compile(r"(?<!\S)[\u200c\u200d]+|[\u200c\u200d]+(?!\S)")
APOSTROPHE = regex.compile(r"(?<=[\p{L}\p{M}])[\u2018\u2019\u02bc\u00b4`\u2032\uff07](?=\p{L})")


class TokenisedText(NamedTuple):
    """All tokens of a text in one list, and how many of them each sentence holds."""

    tokens: list[str]
    sentence_lengths: list[int]


@cache
def treebank_words() -> Any:
    """Return NLTK's tokeniser of one sentence."""
    return nltk.tokenize.NLTKWordTokenizer()


@cache
def untrained_punkt() -> Any:
    """Return a splitter without a list of abbreviations, which needs no data."""
    return nltk.tokenize.PunktSentenceTokenizer()


@cache
def trained_punkt(nltk_data: Path) -> Any:
    """Return NLTK's splitter with the English parameters in that ``nltk_data`` folder."""
    nltk.data.path.insert(0, str(nltk_data))  # NLTK reads nothing outside the folders listed there
    return nltk.tokenize.PunktTokenizer("english")


def fetch_punkt() -> Path:
    """Return an ``nltk_data`` folder with Punkt's English parameters, unpacked on first use."""
    nltk_data = prepared_folder("nltk_data")
    folder = nltk_data / "tokenizers" / "punkt_tab" / "english"
    if not folder.exists():
        source, (package,) = obtain(card("punkt_tab"))
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            with readable(package), zipfile.ZipFile(package) as archive:
                for name in PUNKT_FILES:
                    data = archive.read(source.member + name)
                    (temporary / name).write_bytes(data)
    return nltk_data


def tokenise(text: str, splitter: Any) -> TokenisedText:
    """Split a text into sentences and these into words.

    A sentence without a word is dropped, so an empty text has none. The Treebank tokeniser writes
    an opening quote as two backticks, as in the papers.
    """
    words = treebank_words()
    return _joined(words.tokenize(sentence) for sentence in splitter.tokenize(text))


def _joined(sentences: Iterable[list[str]]) -> TokenisedText:
    sentences = [sentence for sentence in sentences if sentence]
    return TokenisedText(list(chain(*sentences)), list(map(len, sentences)))


def normalised(text: str) -> str:
    """Replace what people type and paste by the characters that tokenisers know, and ``clean``.

    Every apostrophe between letters becomes the typewriter's, so that *don’t* keeps its negation.
    References such as ``&#39;``, ligatures and odd spaces become the characters they stand for.
    Invisible characters (soft hyphens, zero-width spaces, byte order marks) are removed, and
    letters are composed (normal form C). The rows of the catalog's corpora are read without this.
    """
    text = unicodedata.normalize("NFC", REFERENCE.sub(_referred, text))
    text = LIGATURE.sub(lambda found: LIGATURES[ord(found[0]) - 0xFB00], text)
    text = INVISIBLE.sub("", BREAK.sub(" ", ODD_SPACE.sub(" ", text)))
    return clean(APOSTROPHE.sub("'", LOOSE_JOINER.sub("", text)))


def _referred(found: regex.Match[str]) -> str:
    """Return the character that a reference names, or the reference itself if it names none."""
    decimal, hexadecimal, name = found.groups()
    if name:
        return NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    stands = 32 <= code < 127 or 160 <= code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if stands else found[0]


@cache
def unicode_words() -> regex.Pattern[str]:
    """Return the pattern of a token: a number, a word, or a single sign.

    A word consists of letters, digits and marks; a sign includes the marks joined to it. Chinese
    and Japanese have no blanks between words, so each of their characters is a token.
    """
    # a joiner belongs to a word where a letter follows
    letter = rf"(?:(?![{UNSPACED}])[\p{{L}}\p{{N}}_]|\p{{M}}|[\u200c\u200d](?=[\p{{L}}\p{{M}}]))"
    word = rf"{letter}+"
    return regex.compile(rf"\d+(?:[.,]\d+)+|(?![\u200c\u200d]){word}(?:['’\-]{word})*|(?=\S)\X")


def words_and_signs(text: str) -> list[str]:
    """Return the words and the single signs of a text in any script."""
    return unicode_words().findall(text)


def unicode_tokens(text: str) -> TokenisedText:
    """Split a text at the signs that close a sentence, and sentences into words of any script.

    Scripts without blanks between words come as single characters (Chinese, Japanese) or as whole
    phrases (Thai, Khmer, Lao).
    """
    return _joined(map(words_and_signs, SENTENCE_END.split(text)))


def split_tokens(text: str) -> TokenisedText:
    """Return one sentence of tokens that are joined by blanks, and by no other white space."""
    return _joined([[token for token in text.split(" ") if token]])


def tokeniser(name: str, punkt: Path | None = None) -> Callable[[str], TokenisedText]:
    """Return the tokeniser of that name: one of ``TOKENISERS``, or "tokens" for ``split_tokens``.

    ``punkt`` is the folder of English parameters; None takes the one in the cache.
    """
    if name in ("unicode", "tokens"):
        return unicode_tokens if name == "unicode" else split_tokens
    splitter = untrained_punkt() if name == "untrained" else trained_punkt(punkt or fetch_punkt())
    return partial(tokenise, splitter=splitter)
