"""Text in, masked batches out: what each dataset is, where it comes from, and how it is read."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "Batch": "batches",  # tokens, mask, labels and places of some documents
        "Batches": "batches",  # documents in batches of similar length, ordered by a seed
        "Documents": "batches",  # encoded documents, without any padding
        "CARDS": "catalog",  # every dataset by name: task, classes, sizes, sources, terms
        "card": "catalog",  # the card of one dataset
        "TextConfig": "config",  # what a system reads of a corpus: cut, vocabulary, vectors
        "CONTROL_TASKS": "controls",  # made-up texts for positive controls, by name
        "write_texts": "controls",  # texts of one of them, and which words decide
        "encode_texts": "controls",  # these texts as input of a network
        "Corpus": "corpus",  # a dataset's splits of tokenised rows, its card and where it came from
        "prepared_content": "corpus",  # the digest of what is prepared of a corpus, None if nothing
        "load_corpus": "corpus",  # the corpus of that name, fetched and prepared on first use
        "encode_documents": "encoding",  # rows to word ids, cut as asked
        "Columns": "own_survey",  # how a table of one's own is read: its columns, its tokeniser
        "own_texts": "own_text",  # the name that settings give labelled texts of one's own
        "told_of": "own_text",  # what was found in them, in sentences
        "hashed_ngrams": "ngrams",  # the character n-grams of words, as rows of a table
        "TokenisedText": "text",  # the tokens of a text, and how many each sentence holds
        "tokenise": "text",  # a text's sentences and words
        "split_tokens": "text",  # a text whose tokens are separated by spaces
        "untrained_punkt": "text",  # the sentence splitter that needs no data
        "trained_punkt": "text",  # the sentence splitter with English parameters
        "fetch_punkt": "text",  # where these parameters are, fetched on first use
        "own_vectors": "vector_store",  # the name that settings give a vectors file of one's own
        "load_vectors": "vectors",  # pre-trained word vectors by name, fetched on first use
        "Vocabulary": "vocabulary",  # words and their ids: 0 is padding, 1 any unknown word
        "UNKNOWN": "vocabulary",  # the id of any unknown word
    },
)
