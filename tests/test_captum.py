"""Ours beside Captum's: integrated gradients.

Captum starts from token numbers and reaches the word vectors by a hook.
"""

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from test_faithfulness_networks import families, rows, untrained

from course_lib import faithfulness
from course_lib.data.vocabulary import PADDING
from course_lib.faithfulness.document_model import DocumentModel

STEPS, TEXTS = 8, 5
# n-grams reach the network beside its word vectors, and Captum hooks one layer
PLAIN = {"iram": {"model.ngrams": 0}}


@pytest.mark.full
@families
def test_integrated_gradients_are_captums(family):
    model = DocumentModel(untrained(family, **PLAIN.get(family, {})))
    system, documents = model.system, model.documents(rows()["test"].select(range(TEXTS)))
    classes = model(documents).argmax(1)
    ours = faithfulness.integrated_gradients(model.gradients, model, documents, steps=STEPS)
    for document, j, found in zip(documents, classes, ours, strict=True):

        def log_odds(tokens, mask, j=j):
            p = system.forward(tokens, mask).logits.softmax(-1)[:, j]
            return p.log() - torch.log1p(-p)

        tokens, mask = system.batch([document if system.reads_sentences else [document]])
        theirs = LayerIntegratedGradients(log_odds, system.model.embedding).attribute(
            tokens,
            torch.full_like(tokens, PADDING),
            additional_forward_args=(mask,),
            n_steps=STEPS,
            method="gausslegendre",
        )
        expected = theirs.sum(-1).reshape(mask.shape)[mask].detach()
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert np.abs(found).max() > 1e-4, "nothing to compare"
