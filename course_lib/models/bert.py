"""BERT's encoder (Devlin et al. 2019) for trained weights, and a classifier on its mean state.

It is a ``Transformer`` that reads [CLS] text [SEP]. The two special tokens come after the text's
pieces in every tensor here, so piece i has the index i in states and attention. BERT knows the
order from its positions alone, and these are BERT's: [CLS] has 0, the pieces 1, 2, …, then [SEP].
Example::

    model = Bert(BertConfig(), vocabulary=30_522, classes=2)  # random weights
    model.load_state_dict(from_bert(weights), strict=False)  # trained ones, but for the classifier
    output = model(pieces, mask, return_attention=True)  # (batch, length): ids, and True = real
    output.logits, output.attention  # (batch, 2), (batch, 6, 12, length + 2, length + 2)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding as vectors_of

from course_lib.checking import check_flags
from course_lib.models.transformer import Transformer, TransformerConfig

SPECIAL = ("[CLS]", "[SEP]")
SPECIAL_IDS = (101, 102)  # in the vocabulary of the original uncased BERT


def with_special(mask: Tensor) -> Tensor:
    """A mask of pieces ``(batch, length)`` and then [CLS] and [SEP], ``(batch, length + 2)``; a
    text without pieces has neither, so that its row stays fully masked."""
    return torch.cat([mask, mask.any(1, keepdim=True).expand(-1, len(SPECIAL))], 1)


def places_with_special(mask: Tensor) -> Tensor:
    """Positions of the tokens of ``with_special``, ``(batch, length + 2)``."""
    pieces = torch.arange(1, mask.shape[1] + 1, device=mask.device).expand_as(mask)
    cls = pieces.new_zeros(len(pieces), 1)
    sep = torch.cat([cls, pieces * mask], 1).amax(1, keepdim=True) + 1  # after the last piece
    return torch.cat([pieces, cls, sep], 1)


class Bert(Transformer):
    """Every piece of a text, [CLS] and [SEP] attend to each other, in several heads and blocks.

    ``forward`` takes pieces ``(batch, length)``; its outputs have ``length + 2``: the pieces, then
    [CLS] and [SEP].
    """

    config: "BertConfig"

    def embed(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Ids and mask ``(batch, length)`` of the pieces → vectors, mask and positions of all."""
        x = self.embedding(tokens)
        special = torch.tensor([SPECIAL_IDS], device=tokens.device).expand(len(tokens), -1)
        # not self.embedding(special), whose hooks see the text's pieces alone
        x = torch.cat([x, vectors_of(special, self.embedding.weight)], 1)
        return x, with_special(mask), places_with_special(mask)

    def set_trainable(self) -> None:
        """If ``config.frozen``, freeze all but classifier and adapters."""
        if self.config.frozen:
            for name, parameter in self.named_parameters():
                learns = name.startswith("classifier.") or name.endswith((".a", ".b"))
                parameter.requires_grad_(learns)


OF_BERT = (  # transformers' names and ours, in this order: some are parts of earlier ones
    ("embeddings.word_embeddings.", "embedding."),
    ("embeddings.position_embeddings.", "positions."),
    ("embeddings.LayerNorm.", "norm."),
    ("encoder.layer.", "blocks."),
    ("attention.self.", "attention."),
    ("attention.output.dense.", "attention.output."),
    ("attention.output.LayerNorm.", "norms.0."),
    ("intermediate.dense.", "w_1."),
    ("output.dense.", "w_2."),
    ("output.LayerNorm.", "norms.1."),
)


def from_bert(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a BERT, by ``transformers``' names for ``BertModel``, as those of a
    ``Bert`` without its classifier. All texts here are BERT's first segment, so the vector
    of that segment is added to each position's."""
    ours = {}
    for name, weight in state.items():
        for theirs, our in OF_BERT:
            name = name.replace(theirs, our)
        if not name.startswith(("pooler.", "embeddings.")):
            ours[name] = weight
    segment = state["embeddings.token_type_embeddings.weight"][0]
    return ours | {"positions.weight": ours["positions.weight"] + segment}


@dataclass(frozen=True)
class BertConfig(TransformerConfig):
    """The sizes of MiniLM (Wang et al. 2020), 22.6 million weights, piece vectors included.

    If ``pretrained``, a run's system loads the published weights. With ``frozen``,
    ``set_trainable`` leaves only the classifier learning, and adapters if there is a ``rank``.
    ``pooling`` "first" takes the first piece, not [CLS].
    """

    layers: int = 6
    heads: int = 12
    feed_forward: int = 1536
    width: int = 384
    positions: int = 512
    dropout: float = 0.1
    attention_dropout: float = 0.1
    activation: str = "gelu"
    norm_epsilon: float = 1e-12
    normalised_input: bool = True
    pretrained: bool = True
    frozen: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flags(self, "pretrained", "frozen")
