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
        "read_row": "reading",  # what a run's model makes of a row of its corpus
        "read_text": "reading",  # what a run's model makes of a text you typed
        "read_tokens": "reading",  # what a run's model makes of tokens
        "DocumentView": "views",  # documents to page through, with menu and filter
        "TextView": "views",  # a box to type a text into, and what the model makes of it
        "explore_documents": "views",  # a view of documents to page through
        "explore_text": "views",  # a view in which you type a text
        "show_reading": "views",  # a reading's words tinted by attention
    },
)
