"""Which documents to show first, chosen at run time by what a system makes of them."""

from collections.abc import Iterable, Sequence

import numpy as np

from course_lib.metrics.classification import Predictions

CONFIDENT = 0.9  # the probability of a prediction that is clear
LENGTHS = (0.1, 0.5)  # quantiles: neither the shortest documents nor the longer half
# no page of the course opens with these words; whoever looks further may meet them
WORDS = (
    "arse arsehole ass asses asshole assholes bastard bastards bitch bitches boobs bullshit cock "
    "crap crappy cunt cunts dick dicks dildo fag faggot fags fuck fucked fucker fuckers fucking "
    "fucks hooker masturbate masturbating masturbation motherfucker nigger niggers orgasm orgy "
    "penis piss pissed porn porno pussy rape raped rapes raping retard retarded shit shits shitty "
    "slut sluts tits vagina wank wanker whore whores"
)
PROFANITY = frozenset(WORDS.split())


def is_profane(tokens: Iterable[str]) -> bool:
    """Whether one of the tokens is in ``PROFANITY``, in whatever case."""
    return not PROFANITY.isdisjoint(token.lower() for token in tokens)


def reading_order(documents: Sequence[Sequence[str]], predictions: Predictions) -> list[int]:
    """The places of all documents: clear successes, then all mistakes, then the other successes.

    Documents are given by their tokens. A clear one is without profanity, is predicted with
    ``CONFIDENT`` or more, and has a length between the quantiles ``LENGTHS`` of all. Mistakes
    begin with the clear ones. Without any clear success, the nearest to one comes first: length
    gives way first, then confidence, and profanity last. Of several, the surest stands first.
    """
    confidence, guess = predictions.probabilities.max(1)
    right = (guess == predictions.labels).tolist()
    lengths = np.array([len(tokens) for tokens in documents])
    low, high = np.quantile(lengths, LENGTHS)
    lacks = [
        (4 * is_profane(tokens) + 2 * (sure < CONFIDENT) + (not low <= length <= high), -sure)
        for tokens, sure, length in zip(documents, confidence.tolist(), lengths, strict=True)
    ]
    order = sorted(range(len(lacks)), key=lacks.__getitem__)
    successes = [place for place in order if right[place]]
    count = sum(lacks[place][0] == 0 for place in successes) or 1
    mistakes = [place for place in order if not right[place]]
    return successes[:count] + mistakes + successes[count:]
