"""A small network of every kind and variant, for the tests of what all of them must keep."""

from functools import cache

import torch
from strategies import WORDS, batch, document_lengths, ragged_batch, row_lengths, tiny_han
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import nn

from course_lib.models.agt import AGT, AblatedAGT, AGTConfig
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.models.han import HAN
from course_lib.models.iram import IRAM, FullIRAM, IRAMConfig
from course_lib.models.layers import visible
from course_lib.models.sanet import SANet, SANetConfig
from course_lib.models.transformer import LowRank, Transformer, TransformerConfig

SIZES = {"embedding": 6, "hidden": 8}


@cache
def has_bfloat16_lstm():
    """Whether torch can train an LSTM in bfloat16 on this processor; oneDNN has none for some."""
    with torch.autocast("cpu", torch.bfloat16):
        try:
            nn.LSTM(2, 2)(torch.zeros(1, 1, 2))
        except RuntimeError:
            return False
    return True


FULL = {
    "ngrams": 5,
    "embedding_highway": 2,
    "context_layers": 2,
    "query_layers": 1,
    "query_highway": True,
}
NGRAMS = torch.randint(0, 6, (WORDS, 4), generator=torch.Generator().manual_seed(1)).int()
NGRAMS[:2] = 0


def tiny_agt(seed=0, **changes):
    torch.manual_seed(seed)
    config = AGTConfig(**SIZES | {"layers": 4} | changes)
    return (AblatedAGT if config.ablated else AGT)(config, WORDS, 3).eval()


def tiny_iram(seed=0, **changes):
    """Weights so large that attention is far from uniform, but logits not beyond about 1."""
    torch.manual_seed(seed)
    config = IRAMConfig(**SIZES | {"initial_std": 0.4} | changes)
    if config.has_extras:
        model = FullIRAM(config, WORDS, 3, ngrams=NGRAMS if config.ngrams else None).eval()
    else:
        model = IRAM(config, WORDS, 3).eval()
    with torch.no_grad():
        for weight in model.classifier.parameters():
            weight.mul_(0.25)
        if model.steps:
            model.steps.attend.weight.mul_(10)
    return model


def tiny_sanet(seed=0, **changes):
    torch.manual_seed(seed)
    return SANet(SANetConfig(**SIZES | changes), WORDS, 3).eval()


def tiny_bilstm(seed=0, **changes):
    """Its context vector is so long that attention is far from uniform."""
    torch.manual_seed(seed)
    model = BiLSTM(BiLSTMConfig(**SIZES | changes), WORDS, 3).eval()
    with torch.no_grad():
        model.pooling.contexts.mul_(20)
    return model


def tiny_transformer(seed=0, **changes):
    torch.manual_seed(seed)
    config = TransformerConfig(**{"width": 16, "feed_forward": 12} | changes)
    model = Transformer(config, WORDS, 3).eval()
    for layer in model.modules():
        if isinstance(layer, LowRank):
            torch.nn.init.normal_(layer.b)  # at zero it changes nothing, and has no gradient
    return model


LIKE_BERT = {"activation": "gelu", "normalised_input": True, "norm_epsilon": 1e-12, "positions": 9}
AVERAGE, DOT = {"encoder": "average"}, {"attention": "dot"}
FLAT = {
    tiny_agt: [
        {},
        {"layers": 1},
        {"layers": 15},
        {"selection_layers": 1},
        {"selection_layers": 3},
        {"attention": False, "layers": 1},
        {"attention": False},
    ],
    tiny_iram: [
        {"steps": 0},
        {"steps": 1},
        {"steps": 2, "penalty": 9.0},
        {},
        FULL,
        FULL | {"query_layers": 0},
    ],
    tiny_sanet: [{}, {"attention": False}, {"blocks": 2}, {"scaled": True}, {"positions": False}],
    tiny_bilstm: [{}, DOT, AVERAGE, AVERAGE | DOT],
    tiny_transformer: [{}, LIKE_BERT, {"pooling": "first"}, {"rank": 2}, {"positions": 0}],
}
VARIANTS = {
    f"{make.__name__.removeprefix('tiny_')} {changes}": (make, changes)
    for make, all_changes in (FLAT | {tiny_han: [{}, {"hops": 3, "penalty": 0.1}]}).items()
    for changes in all_changes
}


def new(variant, seed=0, **more):
    """The network of that name in ``VARIANTS``, in evaluation mode."""
    make, changes = VARIANTS[variant]
    return make(seed, **changes | more)


def lengths_for(variant, shortest=0):
    """The strategy of a batch's lengths: of sentences where the network reads sentences."""
    deep = VARIANTS[variant][0] is tiny_han
    return document_lengths(shortest) if deep else row_lengths(shortest, longest=9)


def inputs(lengths, seed=0):
    """Random word ids and mask for lengths of documents, or of documents' sentences."""
    deep = isinstance(lengths[0], list)
    return ragged_batch(lengths, seed) if deep else batch(lengths, seed)


def some_inputs(variant):
    """A batch without an empty document."""
    deep = VARIANTS[variant][0] is tiny_han
    return inputs([[3, 2, 5], [4, 4], [2, 3]] if deep else [7, 4, 9, 6], 5)


def read(model, tokens, mask, given=None):
    """Its output, with its attention; ``given`` replaces that, a list of one or two tensors."""
    if given is not None:
        given = tuple(given) if isinstance(model, HAN) else given[0]
    shown = {"return_attention": True} if isinstance(model, SANet | Transformer) else {}
    return model(tokens, mask, given, **shown)


def attentions(output):
    """All attention of an output, as a list; none of a baseline."""
    if hasattr(output, "word_attention"):
        return [output.word_attention, output.sentence_attention]
    return [] if output.attention is None else [output.attention]


def places(model, mask):
    """Where each of its attentions may go, in its shape; none of a baseline."""
    if isinstance(model, HAN):
        return [mask, mask.any(2)]
    if isinstance(model, SANet):
        pairs = mask[:, None, None] & mask[:, None, :, None]
        return [pairs.expand(-1, len(model.blocks), -1, -1)] if model.config.attention else []
    if isinstance(model, Transformer):
        pairs = (mask[:, None] & mask[:, :, None])[:, None, None]
        return [pairs.expand(-1, len(model.blocks), model.config.heads, -1, -1)]
    if isinstance(model, IRAM):
        return [visible(mask, model.config.steps)] if model.steps else []
    return [
        mask if isinstance(model, BiLSTM) else mask[:, None].expand(-1, model.config.selecting, -1)
    ]


def bert_ids(pieces):
    """Ids as a BERT has them: padding 0, the special tokens 100 to 103, then pieces, sorted."""
    known = ["[PAD]", *(f"[unused{n}]" for n in range(99)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return {name: number for number, name in enumerate([*known, *sorted(pieces)])}


def save_pieces(path, ids):
    """A ``tokenizer.json`` as MiniLM's, which cuts texts, too."""
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(3)
    tokenizer.save(str(path))
