"""Tests of whether importances of words say what a classifier uses; for any model of documents."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "Document": "documents",  # words, or sentences of words
        "Model": "documents",  # a function of documents, which returns probabilities
        "Variant": "documents",  # a document of which some words stay
        "words_of": "documents",  # all words of a document, in reading order
        "whole": "documents",  # a document with all its words
        "without": "documents",  # a document without some words
        "ask": "documents",  # probabilities of many texts, batched by length
        "leave_one_out": "rankers",  # by how much the probability falls without each word
        "random_importance": "rankers",  # the ranking that knows nothing
        "gradient_times_input": "rankers",  # the log-odds' slope along each word vector
        "integrated_gradients": "rankers",  # that slope's mean from no vector to the whole one
        "Gradients": "rankers",  # what the two need of a model
        "attention_times_gradient": "rankers",  # what a weight adds, to first order
        "AttentionGradients": "rankers",  # what that needs of a model
        "attention": "attention",  # attention of each family, reduced to words
        "comprehensiveness": "erasure",  # what the probability loses without the top words
        "sufficiency": "erasure",  # what it loses when only the top words are left
        "aopc": "erasure",  # the mean over the thresholds
        "words_to_flip": "erasure",  # the share of words removed until the decision changes
        "SHARES": "erasure",  # the thresholds that are usual
        "limits": "bounds",  # the best and worst area that any ranking reaches
        "normalised_aopc": "bounds",  # where an area lies between these
        "kendall": "agreement",  # whether two rankings of a document agree
        "jensen_shannon": "agreement",  # how far two distributions differ
        "total_variation": "agreement",  # the same, as a difference of probabilities
        "conicity": "agreement",  # how far the states of a document point the same way
        "mean_over_documents": "agreement",  # a mean with its bootstrap interval
        "permutation_change": "interventions",  # what shuffling the attention changes
        "zeroed": "interventions",  # attention without some places, renormalised
        "adversarial_attention": "interventions",  # other attention, same output
        "adversary_loss": "objectives",  # trained for the same output and other attention
        "avoidance_loss": "objectives",  # trained to give some words no weight
        "remove_further": "retraining",  # the next words to go, before a network is trained again
        "randomised_from_top": "retraining",  # a network that forgets its layers one by one
    },
)
