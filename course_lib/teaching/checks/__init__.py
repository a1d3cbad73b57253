"""Checkers for the exercises: they try a learner's function on many cases, smallest first.

``check_masked_softmax(my_softmax)`` prints one line when every case agrees with the library. A
wrong answer raises ``CheckFailed`` with a sentence about what is wrong and the smallest case where
it is, drawn: what went in, then yours beside the expected. A function that is not written yet (it
returns ``None`` or ``...``, or raises ``NotImplementedError``) is only reminded of.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "check_attention_pooling": "attention",  # pooled states and their attention
        "check_diagonality": "measures",  # weight near the diagonal
        "check_gini": "measures",  # how unequal n² weights are
        "check_masked_softmax": "attention",  # softmax over real tokens alone
        "check_redundancy": "attention",  # how much the hops look at the same
        "check_top_words": "measures",  # the k heaviest words
        "check_word_shares": "measures",  # each word's share of its document
        "check_block": "blocks",  # a block of SANet
        "check_masked_maximum": "blocks",  # the largest value over real words
        "check_pooled_shares": "blocks",  # the share of pooled dimensions per word
        "check_untrained": "blocks",  # which document an untrained network read
        "check_attention_gate": "gates",  # a layer of AGT
        "check_highway": "gates",  # a highway layer
        "check_order_change": "composition",  # what another order of words changes
        "check_phrases": "composition",  # runs of selected words
        "check_selected_words": "composition",  # words whose weight is above a threshold
        "CheckFailed": "core",  # the learner's answer is wrong
        "check_number": "core",  # for an exercise whose answer is one number
        "check_effective_words": "documents",  # exp of the weights' entropy
        "check_padding_change": "documents",  # what further padding changes
        "check_sentences_in_place": "documents",  # vectors where their sentences stand
        "check_smallest_f1": "documents",  # the smallest F1 at so many wrong answers
        "check_scattered_attention": "designs",  # sharp attention without band or column
        "check_shifted_attention": "designs",  # a matrix that looks k words on
        "check_by_word": "encoders",  # attention between pieces as attention between words
        "check_contributions": "contributions",  # what each word adds above two layers
        "check_head_weights": "encoders",  # one head out of nn.MultiheadAttention
        "check_hidden_keys": "encoders",  # our mask in PyTorch's sense
        "check_without_head": "encoders",  # the output matrix without a head
        "check_erasure": "faithfulness",  # comprehensiveness and sufficiency
        "check_kendall": "faithfulness",  # whether two rankings agree, ties counted
        "check_normalised_aopc": "faithfulness",  # an area between its limits
        "check_share_to_flip": "faithfulness",  # the share of words until the decision changes
        "check_integrated_gradients": "integrated",  # the slope's mean from zero to the words
        "check_permutation_change": "interventions",  # what shuffled attention changes
        "check_zeroed": "interventions",  # attention without some places, renormalised
        "check_padding_odds": "forensics",  # how heavy padding would have to be
        "check_network_defect": "forensics",  # what is wrong with a network, by asking it
        "check_blend": "recurrent",  # the old state blended with a candidate
        "check_gru_step": "recurrent",  # one step of the report's GRU
        "check_last_state": "recurrent",  # each row's state after its last word
        "check_report_weights": "recurrent",  # nn.GRU's weights in the report's sense
        "check_reverse": "recurrent",  # the real words of each row in reverse
        "check_constant_answer": "chance",  # accuracy of the commonest training label
        "check_defect": "replication",  # stuck, over-fitted or under-trained
        "check_one_change": "replication",  # pairs of runs that differ in one setting
        "check_power": "chance",  # how often a few seeds tell two models apart
        "check_prior_correction": "chance",  # probabilities under other class shares
        "check_unknown_share": "replication",  # words that training has not seen
        "check_text_by_text": "paired",  # whether one of two models is right more often
        "check_order": "self_attention",  # invariant, equivariant or neither
        "check_self_attention": "self_attention",  # output and attention of one head
        "check_uniform_diagonality": "self_attention",  # of n tokens, exactly
        "check_few_runs": "runs",  # how likely few runs of selected words are
        "check_phrase_orders": "runs",  # orders with the longest and the shortest phrases
        "check_carrying_highway": "steps",  # a highway layer that carries x
        "check_passes_on": "steps",  # whether later steps attend to summaries
        "check_step_cosine": "steps",  # mean cosine of pairs of steps
        "check_step_penalty": "steps",  # IRAM's penalty on steps alike
        "check_step_price": "prices",  # a price for steps that no shortcut makes cheap
        "check_steps": "steps",  # IRAM's steps of attention
        "check_gru_jacobian": "stretch",  # how a GRU's next state depends on the old one
        "check_multi_head": "stretch",  # causal self-attention with several heads
        "check_words_to_flip": "stretch",  # heaviest words removed until the prediction turns
    },
)
