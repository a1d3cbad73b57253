"""Numbers that describe predictions and attention, and checks that any model must pass."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "invariants": "invariants",  # checks for any model, which raise with the offending numbers
        "composition": "composition",  # selected words and the phrases they form
        "Predictions": "classification",  # class probabilities and labels of documents
        "classification_metrics": "classification",  # accuracy, F1, AUC, ROC, confusion matrix
        "sampling_error": "classification",  # standard error of a share of documents
        "gini": "attention",  # how unequal a matrix's weights are
        "row_gini": "attention",  # the same, row by row
        "row_entropy": "attention",  # entropy of each row over log n
        "diagonality": "attention",  # the share of attention within some places of the diagonal
        "uniform_diagonality": "attention",  # what uniform attention would give
        "describe_attention": "attention",  # figures of a square attention
        "rank_correlation": "ranks",  # whether two figures put things in the same order
        "describe_steps": "steps",  # figures of attention in steps
    },
)
