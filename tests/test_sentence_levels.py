"""What a sentence, and as many words, with most attention are."""

import numpy as np

from course_kit.research.faithfulness.sentence_levels import chosen_words


def test_both_levels_take_what_has_most_attention_and_as_many_words():
    document = [["a", "b", "c"], ["d"], ["e", "f"]]
    attention = np.array([0.02, 0.03, 0.05, 0.3, 0.25, 0.35])
    chosen = chosen_words(document, attention, seed=0)
    assert chosen["sentence"].nonzero()[0].tolist() == [4, 5]  # 0.6, above 0.3 and 0.1
    assert chosen["words"].nonzero()[0].tolist() == [3, 5]
    assert chosen["random words"].sum() == 2
    assert chosen["random sentence"].nonzero()[0].tolist() in ([0, 1, 2], [3], [4, 5])
