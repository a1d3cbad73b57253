"""A pre-trained Transformer from a hub as a ``Reading``, where ``transformers`` is installed.

Nothing of the course needs it. ``read_pretrained`` loads a classifier by its name or folder;
``as_reading`` and ``by_word`` take arrays alone, and are what the tests try.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.data.readers import clean
from course_lib.data.text import tokeniser
from course_lib.views.reading import Attention, Reading

SPECIAL = "special tokens"


class NoPretrained(RuntimeError):
    """A pre-trained model cannot be had here; the message says why and what to do."""


def by_word(attention: Tensor, word_of: Tensor) -> Tensor:
    """Attention between pieces as attention between words, ``(words, words + 1)``.

    ``attention`` ``(pieces, pieces)``, ``word_of`` ``(pieces,)`` the place of each piece's word, −1
    for a special token. A word receives the sum of its pieces' weights and attends as their mean
    (Clark et al. 2019, §4). The last column holds all special tokens; rows
    still sum to 1, and the row of a word without a piece is 0.
    """
    words = int(word_of.max()) + 1
    column = torch.where(word_of < 0, words, word_of)
    member = torch.nn.functional.one_hot(column, words + 1).to(attention.dtype)
    table = member.T @ attention @ member  # (words + 1, words + 1)
    return table[:words] / member.sum(0)[:words, None].clamp(min=1)


def as_reading(
    words: Sequence[str],
    word_of: Sequence[int],
    attention: Tensor,
    probabilities: np.ndarray,
    classes: Sequence[str],
) -> Reading:
    """What a pre-trained model read, for the views of this course.

    ``attention`` ``(layers, heads, pieces, pieces)``, ``word_of`` as in ``by_word``. The views are
    the mean of the heads of each ``layer 1``, …, the top layer first; the special tokens together
    are one column behind the words. Words without a piece, where the model cut the text, are the
    reading's ``rest``. ``ValueError`` if no word is left.
    """
    of = torch.as_tensor(word_of)
    kept = int(of.max()) + 1
    if kept < 1:
        raise ValueError("word_of names no word: the text holds nothing that the model reads")
    read = tuple(words[:kept])
    views = {
        f"layer {number}": Attention(by_word(heads.mean(0), of).numpy(), read, extra=(SPECIAL,))
        for number, heads in reversed(list(enumerate(attention.float(), start=1)))
    }
    return Reading(
        read, (kept,), tuple(classes), np.asarray(probabilities), views, tuple(words[kept:])
    )


def read_pretrained(text: str, name: str) -> Reading:
    """A text as a pre-trained classifier reads it, by its ``name`` on the hub or its folder.

    ``NoPretrained`` where ``transformers`` is not installed, or the model cannot be loaded.
    """
    model, cut = _loaded(name)
    words = tokeniser("english")(clean(text)).tokens
    # not every tokeniser knows how many places its model has
    places = getattr(model.config, "max_position_embeddings", cut.model_max_length)
    pieces = cut(
        words, is_split_into_words=True, return_tensors="pt", truncation=True,
        max_length=min(places, cut.model_max_length),
    )  # fmt: skip
    with torch.inference_mode():
        output = model(**pieces, output_attentions=True)
    return as_reading(
        words,
        [-1 if place is None else place for place in pieces.word_ids()],
        torch.stack(output.attentions)[:, 0],
        output.logits[0].float().softmax(0).numpy(),
        [model.config.id2label[number] for number in range(model.config.num_labels)],
    )


def _loaded(name: str) -> tuple[Any, Any]:
    """The model and its tokeniser."""
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise NoPretrained(
            "transformers is not installed, and the course does without it. To load a pre-trained "
            'model, run: pip install "transformers>=4.40"'
        ) from error
    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            name,
            attn_implementation="eager",  # the fused kernels return no weights
        )
        cut = AutoTokenizer.from_pretrained(name, use_fast=True)
    except OSError as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise NoPretrained(
            f"{name!r} is neither a folder with a model nor to be had from the hub ({why}). Check "
            "the name and the network."
        ) from error
    return model.eval(), cut
