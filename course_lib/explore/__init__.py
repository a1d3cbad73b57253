"""Look inside documents: what a trained model predicts for them, and what it attended to.

``read_text``, ``read_row`` and ``read_tokens`` give the numbers; ``explore_documents`` and
``explore_text`` are views to look around with, live in Jupyter and as pages that need no kernel
elsewhere.
"""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "Reading": "reading",  # one document as the model saw it, cut included
        "read_row": "reading",  # what the run's model makes of a row of its corpus
        "read_text": "reading",  # what the run's model makes of a text you typed, split as its
        "read_tokens": "reading",  # what the run's model makes of tokens, ``sentence_lengths`` of
        "DocumentView": "views",  # documents to page through
        "TextView": "views",  # A box to type a text into, a button, and what the model makes of
        "explore_documents": "views",  # A view of documents to page through, each with label
        "explore_text": "views",  # A view in which you type a text and read what the run's model
        "show_reading": "views",  # A reading's words tinted by attention
    },
)
