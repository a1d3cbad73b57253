"""Checkers for the exercises: they try a learner's function on many cases, smallest first.

``check_masked_softmax(my_softmax)`` prints one line when every case agrees with the library. A
wrong answer raises ``CheckFailed`` with a sentence about what is wrong and the smallest case where
it is, drawn: yours beside the expected. A function that is not written yet (it returns ``None`` or
``...``, or raises ``NotImplementedError``) is only reminded of.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "check_attention_pooling": "attention",  # ``f(h, mask, context)`` with ``h`` ``(batch
        "check_diagonality": "measures",  # ``f(attention, bandwidth)``, ``(n, n)`` of one
        "check_gini": "measures",  # ``f(attention)``, ``(n, n)`` of one document → the Gini
        "check_masked_softmax": "attention",  # ``f(scores, mask)``, both ``(batch, length)`` →
        "check_redundancy": "attention",  # ``f(alpha)``, ``(n, hops, length)`` → ‖A Aᵀ − I‖²_F of
        "check_top_words": "measures",  # ``f(words, weights, k)`` → list of the k heaviest
        "check_word_shares": "measures",  # ``f(word_attention, sentence_attention)``, ``(batch
        "check_block": "blocks",  # ``f(x, w_qk, w_v, w_1, b_1, w_2, b_2)``, ``x`` ``(length
        "check_masked_maximum": "blocks",  # ``f(x, mask)``, ``x`` ``(batch, length, hidden)`` and
        "check_pooled_shares": "blocks",  # ``f(places, mask)``, ``places`` ``(batch, hidden)`` as
        "check_untrained": "blocks",  # ``f(attention, mask)``, ``(3, length, length)`` and ``(3
        "check_attention_gate": "composition",  # ``f(y, s, w_t, b_t, w_f)``, ``y`` and ``s``
        "check_highway": "composition",  # ``f(x, w, b, w_t, b_t)``, ``x`` ``(batch, hidden)``
        "check_order_change": "composition",  # ``f(predict, tokens)``, ``tokens`` ``(words,)`` →
        "check_phrases": "composition",  # ``f(words, selected)`` → the runs of selected words
        "check_selected_words": "composition",  # ``f(weights, mask, threshold)``, ``(batch
        "CheckFailed": "core",  # the learner's answer is wrong
        "check_number": "core",  # for an exercise whose answer is one number
        "check_effective_words": "documents",  # ``f(weights)``, ``(words,)`` that sum to 1 → exp
        "check_padding_change": "documents",  # ``f(predict, tokens, mask)`` → how much, at most
        "check_sentences_in_place": "documents",  # ``f(s, mask)`` with ``s`` ``(real sentences
        "check_smallest_f1": "documents",  # ``f(positive, negative, wrong)`` → the smallest F1
        "check_blend": "recurrent",  # ``f(h, candidate, z)``, all ``(batch, hidden)`` → ``(1 − z)
        "check_gru_step": "recurrent",  # ``f(x, h, U, W, b)`` → next state ``(batch, hidden)``
        "check_last_state": "recurrent",  # ``f(x, mask, U, W, b)`` → each row's state after its
        "check_report_weights": "recurrent",  # ``f(weight, bias)`` of an ``nn.GRU``, ``(3 ·
        "check_reverse": "recurrent",  # ``f(x, mask)``, ``(batch, length, inputs)`` and ``(batch
        "check_order": "self_attention",  # ``f(function, x)``, ``x`` ``(n, d)`` with n ≥ 2 →
        "check_self_attention": "self_attention",  # ``f(q, k, v, mask)`` → output ``(batch, n
        "check_uniform_diagonality": "self_attention",  # ``f(n, bandwidth)`` → the diagonality of
        "check_carrying_highway": "steps",  # ``f(x, w_g, b_g, w_f, b_f)``, ``x`` ``(n, width)``
        "check_passes_on": "steps",  # ``f(attention, mask, threshold)``, ``(n, T, words + T −
        "check_step_cosine": "steps",  # ``f(attention)``, ``(n, T, columns)`` with T ≥ 2 → the
        "check_step_penalty": "steps",  # ``f(attention, gamma)``, ``(n, T, columns)`` → γ/(2T)
        "check_steps": "steps",  # ``f(h, q, w, steps, refine, control)``, ``h`` ``(n, d)``, ``q``
    },
)
