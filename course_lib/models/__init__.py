"""The networks and the small parts they share. Models know tensors, not data."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "masked_softmax": "layers",  # softmax over the real entries alone
        "renormalised": "layers",  # weights as shares of the real entries
        "AttentionPooling": "layers",  # mean of states, weighted by a context vector
        "BilinearAttention": "layers",  # softmax of q W h
        "LSTMLayer": "layers",  # a bidirectional LSTM layer that padding cannot change
        "Highway": "layers",  # lets each number pass or be replaced
        "Maxout": "layers",  # the largest of several linear maps
        "Dropout": "layers",  # each entry zero with some probability
        "LockedDropout": "layers",  # the same features zero at every place of a sequence
        "positions": "layers",  # sinusoidal positions
        "hop_redundancy": "layers",  # how much the hops of an attention look at the same
        "GRUCell": "gru",  # one step of a GRU, equation by equation
        "BidirectionalGRU": "gru",  # states of both directions that padding cannot change
        "HAN": "han",  # hierarchical attention network
        "HANConfig": "han",  # its sizes
        "IRAM": "iram",  # iterative recursive attention model
        "IRAMConfig": "iram",  # its sizes and parts
        "RecursiveAttention": "iram",  # steps of attention whose summaries rejoin the sequence
        "step_penalty": "iram",  # how much the steps attend to the same
        "ContextHAN": "context_han",  # a HAN whose word attention knows the other sentences
        "ContextHANConfig": "context_han",  # its sizes and variants
        "SANet": "sanet",  # self-attention network
        "SANetConfig": "sanet",  # its sizes
        "SelfAttention": "sanet",  # one head, unscaled, one matrix for queries and keys
        "Block": "sanet",  # self-attention and a feed-forward layer, each with residual and norm
        "pooled_word_attention": "sanet",  # the share of pooled dimensions that each word gave
        "AGT": "agt",  # attention-gated transformation network
        "AGTConfig": "agt",  # its sizes
        "BiLSTM": "bilstm",  # attention over the states of a BiLSTM, or over projected words
        "BiLSTMConfig": "bilstm",  # its sizes, encoder and attention
    },
)
