"""Tables from committed records beside the papers' numbers; no result of ours is typed by hand."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "optimiser_table": "agt",  # training losses of the readings of AGT's "0.0005"
        "agt_seeds_table": "agt",  # every seed of AGT and its ablations
        "gate_profiles": "agt",  # AGT's mean gates by layer, by vectors and seed
        "composition_figure": "agt",  # phrases and gates by layer, of AGT with film vectors
        "phrase_lengths": "agt",  # of a recorded AGT, beside those of a random order
        "constant_loss": "chance",  # the loss of knowing the shares of the classes and no more
        "detectable_difference": "chance",  # the smallest that so many seeds show
        "power": "chance",  # how often so many seeds tell a difference
        "prior_corrected": "chance",  # probabilities where classes have other shares
        "changes_table": "changes",  # what each change of a setting buys on validation texts
        "STEPS": "changes",  # from the first record to the last, one change after the other
        "recorded_steps": "changes",  # STEPS with their validation accuracies
        "waterfall_figure": "changes",  # what each of these changes bought, as bars
        "gaps_table": "gaps",  # ours at first and now, beside the papers
        "single_changes": "apart",  # pairs of runs that differ in one setting
        "Beside": "beside",  # a network's accuracy with chance and counted words
        "beside_chance": "beside",  # networks beside chance and counted words
        "beside_table": "beside",  # these as a table
        "chance_line": "beside",  # accuracy of the commonest training class
        "movements": "beside",  # how far accuracy moves, by the one setting that was changed
        "movements_figure": "beside",  # these as strips of points
        "pairs_table": "beside",  # test accuracies of named pairs, with their differences
        "claims_table": "claims",  # which claims of the lessons newer records have changed
        "CompositionTest": "composition",  # the result of `composition_test`
        "composition_test": "composition",  # whether selected words are neighbours, by permutation
        "phrases": "composition",  # the phrases of one document, layer by layer
        "rise_and_fall": "composition",  # how far a figure rises towards the middle layers
        "control_figures": "controls",  # the controls' figures of all seeds
        "control_records": "controls",  # the committed records of the positive controls
        "controls_figure": "controls",  # figures of one control as small multiples
        "controls_table": "controls",  # what the instruments show where there is something to see
        "throughputs": "costs",  # measured training speeds, by the machine that made them
        "zhang_costs_table": "costs",  # expected costs of SANet on Zhang's complete sets
        "curve": "curves",  # a figure of every epoch of a run
        "losses_figure": "curves",  # training and validation loss, a panel a run
        "patience_figure": "curves",  # learning curves of seeds, one of them run again
        "CONTRASTS": "differences",  # which pairs of models are compared, and for which claim
        "SIMPLE_CONTRASTS": "differences",  # what word pairs add to a bag of words
        "PAPERS": "differences",  # the papers' accuracies in %, by model and dataset
        "contrasts_table": "differences",  # differences between two models of ours, with intervals
        "film_contrasts_table": "differences",  # networks with film vectors, text by text
        "difference": "differences",  # mean accuracy of runs minus that of others
        "papers_table": "differences",  # our accuracies beside the papers', with differences
        "TwoErrors": "errors",  # of seeds and of test texts, in points
        "draw_experiments": "errors",  # what simulated experiments measure
        "pooled_deviation": "errors",  # over seeds, of several groups of runs
        "two_errors": "errors",  # both errors of every network with enough seeds
        "two_errors_figure": "errors",  # these, a row a network
        "agreement_table": "faithfulness",  # Kendall's τ of attention, gradients, leave-one-out
        "faithfulness_figure": "faithfulness",  # what removing words costs, by every ranking
        "faithfulness_overview": "faithfulness",  # attention beside random, best and limits
        "faithfulness_records": "faithfulness",  # the committed records, by their network's id
        "faithfulness_table": "faithfulness",  # that with limits and words to flip, in numbers
        "freeze_table": "freeze",  # whether the learned attention is used: beside frozen ones
        "interventions_records": "interventions",  # committed records of changed attention
        "interventions_table": "interventions",  # shuffles, adversaries and other seeds
        "band_figure": "left_open",  # the same over the number of training texts
        "band_table": "left_open",  # SANets that know distances, or have two heads
        "halting_figure": "left_open",  # steps over length and negation
        "halting_table": "left_open",  # IRAMs that halt themselves beside fixed numbers of steps
        "left_open_records": "left_open",  # what readings of such networks show, by their id
        "left_open_table": "left_open",  # each change beside the network that it changes
        "order_table": "left_open",  # what AGTs that see the order select
        "repeats_table": "left_open",  # HANs' attention on important words and on repeats
        "own_table": "own",  # the runs on texts of one's own, side by side
        "mcnemar": "paired",  # whether two models are right equally often on the same texts
        "paired_bootstrap": "paired",  # interval of their difference, over texts and seeds
        "REPORTED": "imdb",  # the IMDb report's own figures
        "grouped": "imdb",  # IMDb's records in groups that differ only in their seed
        "imdb_table": "imdb",  # results on the complete IMDb test half
        "TABLE": "readme",  # a part of the README between its markers
        "TABLES": "readme",  # the README's parts that the records write, by name
        "findings": "readme",  # three findings with their numbers
        "short_table": "readme",  # one accuracy a network, beside its paper's and TF-IDF's
        "write_readme": "readme",  # put the current parts between their markers
        "SIMPLE": "records",  # the baselines that every table has
        "without_film_vectors": "records",  # the same runs without these vectors
        "with_film_vectors": "records",  # a preset's records with vectors from film reviews
        "with_other_vectors": "records",  # a preset's records with other vectors, by their names
        "made_from": "records",  # how many seeds, and whether of a subset, in words
        "seeds_of": "records",  # the records of a preset on a dataset, one per seed
        "spread": "records",  # mean ± standard deviation over seeds
        "standard_error": "records",  # of an accuracy on the complete test set
        "AGT_MODELS": "sst",  # AGT's rows: system and preset by name
        "IRAM_MODELS": "sst",  # IRAM's rows: system and preset by name
        "PAPER_ACCURACIES": "sst",  # the two papers' accuracies in % on the treebank
        "sst_table": "sst",  # test accuracies on the treebank, the papers' and ours
        "mean_figures": "sweeps",  # validation accuracy and attention, means over the seeds
        "of_common_seeds": "sweeps",  # the records of seeds that every value was run with
        "planned_values": "sweeps",  # the values of a setting that the grid plans
        "runs_table": "sweeps",  # how many runs of each group are recorded
        "steps_figure": "sweeps",  # IRAM's accuracy and its steps over a setting's values
        "steps_panels": "sweeps",  # the same as small multiples, a dot a run
        "steps_view": "sweeps",  # IRAM's attention, step by step, with a slider over a setting
        "steps_sweep": "sweeps",  # IRAM's records by the number of steps at one penalty
        "sweep": "sweeps",  # a model's records by the value of a setting
        "sweep_table": "sweeps",  # accuracies in % by the value of a setting
        "replica_changes_table": "replica",  # what may explain where ours differ from theirs
        "replica_order": "replica",  # whether the variants stand in the order of their figures
        "replica_table": "replica",  # Jain and Wallace's rank correlations, theirs and ours
        "rooms_table": "rooms",  # the networks whose weights are committed, beside TF-IDF
        "adversary_figure": "trained",  # other attention, and what it costs in predictions
        "roar_figure": "trained",  # accuracy after words are removed and networks trained again
        "trained_records": "trained",  # the committed records of the trained tests
        "trained_table": "trained",  # what a trained test found, in numbers
        "vectors_record": "vectors",  # the committed comparison of word vectors
        "vectors_table": "vectors",  # what vectors cover, and a linear classifier's accuracy
        "neighbours_table": "vectors",  # the nearest words of ten words
        "OUR_MODELS": "zhang",  # SANet's rows: system and preset by name
        "PAPER_ATTENTION": "zhang",  # the paper's Gini and diagonality in %
        "PAPER_ERRORS": "zhang",  # the paper's test errors in %
        "ZHANG": "zhang",  # the titles of Zhang's sets
        "band_by_size": "zhang",  # diagonality by number of training texts
        "attention_lines_table": "zhang",  # single runs beside untrained and uniform attention
        "implied_figure": "zhang",  # these lengths over the bandwidth
        "implied_lengths": "zhang",  # how long texts would be if attention were uniform
        "sanet_short_table": "zhang",  # the errors of the base model on some datasets
        "sanet_attention_table": "zhang",  # Gini and diagonality in %, the paper's and ours
        "sanet_error_table": "zhang",  # test errors in %, the paper's and ours
        "sizes_of_training": "zhang",  # SANet's records by number of training texts
    },
)
