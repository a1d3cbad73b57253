"""Exercise checkers, the museum of bugs, and the small networks that lessons train."""

import lazy_loader

CHECKERS = {  # of each lesson; ``check_`` stands before their names
    "lesson_00": "effective_words moved_by_heaviest text_shares words_to_flip",
    "lesson_01": "gru_reader gru_step latch",
    "lesson_02": "attention_pooling masked_softmax",
    "lesson_02_self_attention": "multi_head self_attention",
    "lesson_03": "han level sentences_in_place",
    "lesson_03_defects": "network_defect",
    "lesson_04": "sanet_block shifted_attention",
    "lesson_04_measures": "diagonality implied_length",
    "lesson_05": "steps",
    "lesson_05_penalty": "shortcut step_penalty unrolled",
    "lesson_06": "agt gate",
    "lesson_06_measures": "interaction pair_scores",
    "lesson_07": "erasure fair_pairs kendall",
    "lesson_08": "adversary adversary_loss guided permutation_change",
    "lesson_09": "diagnosis holm text_by_text verdict",
    "lesson_09_chance": "constant_answer",
    "lesson_10": "block causal heads induction",
    "lesson_11": "bert_attention bert_block restored special_share written_norms",
}

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "calls",
        "failing_run",
        "figures",
        "own_networks",
        "small_classifiers",
        "small_experiments",
        "zhang_texts",
    ],
    submod_attrs={
        "bugs": ["HEALTHY", "MUSEUM", "NamedHAN", "diagnose", "museum", "probe", "verdict_table"],
        "judge": ["CheckFailed"],
        "records": ["committed_record"],
    }
    | {lesson: [f"check_{name}" for name in names.split()] for lesson, names in CHECKERS.items()},
)
