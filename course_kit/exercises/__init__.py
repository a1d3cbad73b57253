"""Exercise checkers, the museum of bugs, and the small networks that lessons train."""

import lazy_loader

CHECKERS = {  # of each lesson; ``check_`` stands before their names
    "lesson_00": "effective_words top_words words_to_flip",
    "lesson_01": "blend gru_jacobian gru_step last_state report_weights reverse",
    "lesson_02": "attention_pooling masked_softmax",
    "lesson_02_self_attention": "multi_head self_attention",
    "lesson_03": "network_defect padding_odds redundancy sentences_in_place smallest_f1",
    "lesson_04": "masked_maximum pooled_shares scattered_attention shifted_attention untrained",
    "lesson_04_measures": "diagonality gini",
    "lesson_05": "iram steps",
    "lesson_05_prices": "shortcut step_penalty step_price",
    "lesson_06": "attention_gate highway order_change phrases selected_words",
    "lesson_06_runs": "few_runs phrase_orders",
    "lesson_07": "areas erasure kendall",
    "lesson_08": "adversary divergence guided permutation_change",
    "lesson_09": "diagnosis text_by_text",
    "lesson_09_chance": "constant_answer power",
    "lesson_10": "by_word contributions head_weights hidden_keys without_head",
    "lesson_11": "bert_attention bert_block low_rank restored special_share written_norms",
}

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["museum", "pretrained", "readers", "small_experiments"],
    submod_attrs={
        "bugs": ["HEALTHY", "MUSEUM", "diagnose", "probe"],
        "javascript": ["show_javascript"],
        "judge": ["CheckFailed"],
        "records": ["committed_record", "shortest_seconds"],
        "wrong_measures": ["WRONG_MEASURES", "compare"],
    }
    | {lesson: [f"check_{name}" for name in names.split()] for lesson, names in CHECKERS.items()},
)
