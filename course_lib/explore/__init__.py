"""Look inside documents: what a trained system predicts for them, and what it attended to.

Every function takes a finished run, or any object with the protocol of a system.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "read_text": "reading",  # tokens, attention and probabilities of a text, row or tokens
        "read_rows": "reading",  # readings of many rows, batch by batch
        "read_hops": "hops",  # what each hop of a HAN attends to
        "hop_overlap": "hops",  # how much the hops look at the same, over many rows
        "count_repeats": "repeats",  # attention on words that were important before
        "steps": "steps",  # what IRAM's steps do: words read, pairs alike, behaviours of Fig. 6
        "reading_order": "choice",  # all documents, clear successes first, then mistakes
        "explore_documents": "views",  # documents to page through
        "explore_text": "views",  # a box to type a text into
        "explore_erasing": "erasing",  # a text whose words you erase
        "ErasingView": "erasing",  # what that gives
        "explore_seeds": "seeds",  # a box to type a text into, which two networks read
        "DocumentView": "views",  # what the former gives
        "TextView": "views",  # what the latter gives
        "explore_values": "values",  # a figure that follows a slider
        "explore_layers": "layers",  # a box to type a text into, and an AGT's table of it
        "SELECTION_RULES": "layers",  # the paper's two, by name
        "layer_table": "layers",  # words by layer, the selected ones outlined
        "layer_phrases": "layers",  # the runs of words that each layer selects
        "phrases_table": "layers",  # the same as a table
        "select_words": "layers",  # what the layers select in many documents
        "count_words": "layers",  # how often they select each word
        "compare_dictionaries": "layers",  # how alike the layers' scores of words are
    },
)
