"""The networks and the small parts they share. Models know tensors, not data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "agt": ["AGT", "AGTConfig", "AblatedAGT"],
        "bilstm": ["BiLSTM", "BiLSTMConfig"],
        "decoder": ["Decoder", "causal_mask"],
        "gru": ["BidirectionalGRU", "GRUCell"],
        "han": ["HAN", "HANConfig", "hop_redundancy"],
        "iram": ["IRAM", "FullIRAM", "IRAMConfig", "RecursiveAttention", "step_penalty"],
        "layers": ["AttentionPooling", "LSTMLayer", "masked_softmax", "positions", "renormalised"],
        "sanet": ["Block", "SANet", "SANetConfig", "SelfAttention", "pooled_word_attention"],
        "bert": ["Bert", "BertConfig"],
        "transformer": ["Transformer", "TransformerConfig"],
    },
)
