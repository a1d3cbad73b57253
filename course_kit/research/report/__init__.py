"""Tables from committed records beside the papers' numbers; no result of ours is typed by hand."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "claims": [
            "claims_table", "comprehensiveness_table", "estimates", "every_claim_table",
            "leads_table", "meanings_table", "other_reading", "verdicts_table",
        ],
        "debate": [
            "adversaries_table", "four_tests_table", "replica_changes_table", "replica_table",
            "shuffles_table",
        ],
        "differences": [
            "ablation_table", "compact_table", "contrasts_table", "difference", "extensions_table",
            "gaps_table", "papers_table",
        ],
        "erasure": [
            "RIVALS", "agreement_table", "best_gaps", "best_table", "by_network",
            "rankings_table", "sign_gaps", "signs_in_words", "signs_table",
        ],
        "figures": [
            "band_by_size", "band_curve", "baselines", "baselines_table", "composition_figure",
            "curve", "draw_experiments", "gate_profiles", "implied_figure", "implied_lengths",
            "losses_figure", "pooled_deviation", "steps_panels", "waterfall_figure",
        ],
        "frames": [
            "COMPARISONS", "ZHANG", "areas", "bounds", "by_seed", "interval", "seeds_of",
            "show_table", "study_records", "tidy", "to_markdown", "with_film_vectors",
            "with_other_vectors",
        ],
        "readme": ["TABLE", "TABLES", "findings", "short_table", "write_readme"],
        "studies": [
            "adversary_figure", "erasure_figure", "graded_phrases_table", "interventions_table",
            "levels_table", "lexicon_table", "roar_figure", "sanity_figures", "sanity_table",
            "trained_table",
        ],
        "tables": [
            "changes_table", "imdb_table", "mean_figures", "optimiser_table", "own_table",
            "planned_values", "sanet_attention_table", "sanet_error_table", "sst_table",
            "steps_sweep", "sweep", "sweep_table", "vectors_table",
        ],
    },
)  # fmt: skip
