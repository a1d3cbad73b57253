"""Checkers for the exercises: they try a learner's function on many cases, smallest first.

``check_masked_softmax(my_softmax)`` prints one line when every case agrees with the library. A
wrong answer raises ``CheckFailed`` with a sentence about what is wrong and the smallest case where
it is, drawn: what went in, then yours beside the expected. A function that is not written yet (it
returns ``None`` or ``...``, or raises ``NotImplementedError``) is only reminded of."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "attention": ["check_attention_pooling", "check_masked_softmax", "check_redundancy"],
        "blocks": ["check_block", "check_masked_maximum", "check_pooled_shares", "check_untrained"],
        "chance": ["check_constant_answer", "check_power", "check_prior_correction"],
        "composition": ["check_order_change", "check_phrases", "check_selected_words"],
        "contributions": ["check_contributions"],
        "core": ["CheckFailed", "check_number"],
        "designs": ["check_scattered_attention", "check_shifted_attention"],
        "documents": [
            "check_effective_words",
            "check_padding_change",
            "check_sentences_in_place",
            "check_smallest_f1",
        ],
        "encoders": [
            "check_by_word",
            "check_head_weights",
            "check_hidden_keys",
            "check_without_head",
        ],
        "faithfulness": [
            "check_erasure",
            "check_kendall",
            "check_normalised_aopc",
            "check_share_to_flip",
        ],
        "forensics": ["check_network_defect", "check_padding_odds"],
        "gates": ["check_attention_gate", "check_highway"],
        "integrated": ["check_integrated_gradients"],
        "interventions": ["check_permutation_change", "check_zeroed"],
        "measures": ["check_diagonality", "check_gini", "check_top_words", "check_word_shares"],
        "paired": ["check_text_by_text"],
        "prices": ["check_step_price"],
        "recurrent": [
            "check_blend",
            "check_gru_step",
            "check_last_state",
            "check_report_weights",
            "check_reverse",
        ],
        "replication": ["check_defect", "check_one_change", "check_unknown_share"],
        "runs": ["check_few_runs", "check_phrase_orders"],
        "self_attention": ["check_order", "check_self_attention", "check_uniform_diagonality"],
        "steps": [
            "check_carrying_highway",
            "check_passes_on",
            "check_step_cosine",
            "check_step_penalty",
            "check_steps",
        ],
        "stretch": ["check_gru_jacobian", "check_multi_head", "check_words_to_flip"],
    },
)
