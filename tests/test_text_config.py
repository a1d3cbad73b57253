"""What a system reads of a corpus: its settings refuse, by name, what nothing could read."""

import dataclasses

import pytest

from course_lib.data import TextConfig

REFUSED = {  # what a field takes, and values that it does not; other kinds are in test_networks
    "vocabulary_limit": ("a whole number from 3", 2),
    "vocabulary_from": (
        "one of 'train', 'train+validation', 'train+validation+test', 'vectors'",
        *("test", "validation", "train + validation", ""),
    ),
    "vectors": (
        "one of 'none', 'glove.6B.50d', ",
        *("imdb", "glov", "punkt_tab", "toy", "", "glove.6B.50d+", "glove.6B.50d+none"),
        *("glove.6B.50d+glove.6B.50d", "mine.txt", "folder/mine.txt@0123456789ab", "a@0123"),
    ),
    "validation_share": ("a number", 0, 0.0, 1, 1.0, -0.1, float("nan")),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_cannot_be_read_is_refused_with_field_choice_and_value(field):
    takes, *values = REFUSED[field]
    for value in values:
        with pytest.raises(ValueError) as error:
            TextConfig(**{field: value})
        assert str(error.value).startswith(f"{field} takes {takes}")
        assert str(error.value).endswith(f", got {value!r}")


@pytest.mark.parametrize(
    "values",
    [
        (0, 0, 0, 3, "train", "none", "random", False, 1e-9),
        (9, 8, 7, 4, "train+validation", "glove.6B.50d", "zero", True, 1 - 1e-9),
        (
            9,
            8,
            7,
            4,
            "train+validation+test",
            "glove.840B.300d+charngram.100d",
            "random",
            True,
            0.1,
        ),
        (9, 8, 7, 4, "vectors", "été_1.txt@0123456789ab", "zero", False, 0.1),
    ],
)
def test_everything_else_is_taken_as_it_is(values):
    assert dataclasses.astuple(TextConfig(*values)) == values


@pytest.mark.parametrize("change", [{"vocabulary_from": "vectors"}, {"without_vector": "zero"}])
def test_what_needs_vectors_is_refused_without_them(change):
    (field,) = change
    with pytest.raises(ValueError, match=f"^{field} takes .* where text.vectors is 'none'"):
        TextConfig(vectors="none", **change)
    assert TextConfig(**change) != TextConfig()
