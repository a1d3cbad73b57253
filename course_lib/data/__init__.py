"""Text in, masked batches out: what each dataset is, where it comes from, and how it is read."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "batches": ["Batch", "Batches", "Documents"],
        "catalog": ["CARDS", "card"],
        "config": ["TextConfig"],
        "corpus": ["Corpus", "load_corpus", "load_first_at_hand", "prepared_content"],
        "custom_data": ["Columns", "custom_texts", "summary_of"],
        "encoding": ["encode_documents"],
        "ngrams": ["hashed_ngrams"],
        "pairs": ["PairTexts", "ids_of", "pair_texts"],
        "pretrained": ["fetch_network"],
        "sources": ["NotObtained"],
        "text": ["TokenisedText", "fetch_punkt", "tokenise", "untrained_punkt"],
        "vector_files": ["custom_vectors"],
        "vectors": ["load_vectors"],
        "vocabulary": ["UNKNOWN", "Vocabulary"],
    },
)
