"""What is computed at real places alone; ``test_gru`` and ``test_sanet`` hold the fast paths."""

import torch
from hypothesis import given
from strategies import prefix_mask, row_lengths, seeds

from course_lib.models import fast

lengths = row_lengths(longest=6, most_rows=5)


@given(lengths=lengths, seed=seeds)
def test_what_is_computed_at_real_places_is_zero_elsewhere(lengths, seed):
    torch.manual_seed(seed)
    mask, layer = prefix_mask(lengths).flip(1), torch.nn.Linear(3, 2)
    h = torch.randn(*mask.shape, 3)
    found = fast.at_real_places(layer, h.masked_fill(~mask.unsqueeze(2), torch.nan), mask)
    torch.testing.assert_close(found, layer(h) * mask.unsqueeze(2))
