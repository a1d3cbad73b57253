"""Tables from committed records beside the papers' numbers; no result of ours is typed by hand."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "ablation": ["ablation_table"],
        "differences": [
            "CONTRASTS", "PAPER_ACCURACIES", "contrasts_table", "difference",
            "film_contrasts_table", "gap_to_paper", "gaps_table", "pairs_table", "papers_table",
            "recorded_chains",
        ],
        "extensions": [
            "band_figure", "band_table", "extension_records", "extensions_table",
            "halting_figure", "halting_table", "order_table", "repeats_table",
        ],
        "faithfulness": [
            "adversary_figure", "agreement_table", "faithfulness_figure", "faithfulness_overview",
            "faithfulness_records", "faithfulness_table", "interventions_records",
            "interventions_table", "replica_changes_table", "replica_order", "replica_table",
            "roar_figure", "trained_records", "trained_table",
        ],
        "figures": [
            "band_by_size", "baselines", "baselines_table", "chance_line", "composition_figure",
            "curve", "draw_experiments", "gate_profiles", "implied_figure", "implied_lengths",
            "losses_figure", "movements", "movements_figure", "patience_figure", "phrase_lengths",
            "pooled_deviation", "sizes_of_training", "two_errors",
            "two_errors_figure", "waterfall_figure",
        ],
        "frames": [
            "NAMES", "PAPERS", "SIMPLE", "ZHANG", "made_from", "mean_std", "require_claim",
            "seeds_of", "single_factor_pairs", "standard_error", "tidy", "with_film_vectors",
            "with_other_vectors", "without_film_vectors",
        ],
        "readme": ["TABLE", "TABLES", "findings", "short_table", "write_readme"],
        "studies": [
            "neighbours_table", "sanity_figure", "sanity_figures", "sanity_records", "sanity_table",
            "vectors_record", "vectors_table",
        ],
        "sweeps": [
            "mean_figures", "planned_values", "steps_panels", "steps_sweep", "sweep",
            "sweep_table",
        ],
        "tables": [
            "AGT_MODELS", "IRAM_MODELS", "agt_seeds_table", "attention_lines_table",
            "changes_table", "compact_table", "imdb_table",
            "optimiser_table", "own_table", "runs_table", "sanet_attention_table",
            "sanet_error_table", "sst_table",
            "throughputs", "zhang_costs_table",
        ],
    },
)  # fmt: skip
