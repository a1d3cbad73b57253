"""Checkers for the exercises: they try a learner's function on many cases, smallest first.

``check_masked_softmax(my_softmax)`` prints one line when every case agrees with the library. A
wrong answer raises ``CheckFailed`` with a sentence about what is wrong and the smallest case where
it is, drawn: yours beside the expected. A function that is not written yet (it returns ``None`` or
``...``, or raises ``NotImplementedError``) is only reminded of.
"""

from course_lib.checks.attention import (
    check_attention_pooling,
    check_diagonality,
    check_gini,
    check_masked_softmax,
    check_redundancy,
    check_top_words,
    check_word_shares,
)
from course_lib.checks.blocks import (
    check_block,
    check_masked_maximum,
    check_pooled_shares,
    check_untrained,
)
from course_lib.checks.composition import (
    check_attention_gate,
    check_highway,
    check_order_change,
    check_phrases,
    check_selected_words,
)
from course_lib.checks.core import CheckFailed, check_number
from course_lib.checks.documents import (
    check_effective_words,
    check_padding_change,
    check_sentences_in_place,
    check_smallest_f1,
)
from course_lib.checks.recurrent import (
    check_blend,
    check_gru_step,
    check_last_state,
    check_report_weights,
    check_reverse,
)
from course_lib.checks.self_attention import (
    check_order,
    check_self_attention,
    check_uniform_diagonality,
)
from course_lib.checks.steps import (
    check_carrying_highway,
    check_passes_on,
    check_step_cosine,
    check_step_penalty,
    check_steps,
)

__all__ = [
    "CheckFailed",
    "check_attention_gate",
    "check_attention_pooling",
    "check_blend",
    "check_block",
    "check_carrying_highway",
    "check_diagonality",
    "check_effective_words",
    "check_gini",
    "check_gru_step",
    "check_highway",
    "check_last_state",
    "check_masked_maximum",
    "check_masked_softmax",
    "check_number",
    "check_order",
    "check_order_change",
    "check_padding_change",
    "check_passes_on",
    "check_phrases",
    "check_pooled_shares",
    "check_redundancy",
    "check_report_weights",
    "check_reverse",
    "check_selected_words",
    "check_self_attention",
    "check_sentences_in_place",
    "check_smallest_f1",
    "check_step_cosine",
    "check_step_penalty",
    "check_steps",
    "check_top_words",
    "check_uniform_diagonality",
    "check_untrained",
    "check_word_shares",
]
