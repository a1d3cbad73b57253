"""Reviews that we made up: for quick checks and for pictures that may be committed.

One sentence of each review carries the judgement; the others are scenery that stands in both
classes. So a model that attends well has to find that sentence, and we know which one it is.
"""

import random
from collections.abc import Iterator

from course_lib.data.readers import Row

SCENERY = (
    "The story follows {who} through {place}.",
    "It was shot in {place} over one long summer.",
    "My sister and I saw it on a {day} afternoon.",
    "The camera stays close to {who} for most of the film.",
    "There is a scene in {place} that everybody talks about.",
    "Somewhere in the middle {who} loses a suitcase.",
    "The soundtrack is mostly piano and rain.",
    "It runs for about two hours.",
)
JUDGEMENT = {
    0: (
        "The acting is {bad}.",
        "What a {bad} ending!",
        "I found the whole thing {bad} and {bad2}.",
        "Frankly, the script is {bad}.",
    ),
    1: (
        "The acting is {good}.",
        "What a {good} ending!",
        "I found the whole thing {good} and {good2}.",
        "Frankly, the script is {good}.",
    ),
}
BAD = ("awful", "dull", "clumsy", "tedious", "lifeless", "dreadful")
GOOD = ("wonderful", "gripping", "tender", "brilliant", "charming", "superb")
WHO = ("a retired sailor", "two young sisters", "an anxious dentist", "the night nurse")
PLACE = ("a mountain village", "the old harbour", "an empty hotel", "a railway station")
DAY = ("Monday", "Tuesday", "rainy", "quiet")


def read_toy() -> Iterator[Row]:
    """600 training and 200 test reviews of 2 to 5 sentences, half of them positive."""
    source = random.Random(0)
    for split, per_class in (("train", 300), ("test", 100)):
        for label in (0, 1) * per_class:
            yield Row(split, _review(source, label), label)


def _review(source: random.Random, label: int) -> str:
    sentences = source.sample(SCENERY, source.randint(1, 4))
    sentences.insert(source.randint(0, len(sentences)), source.choice(JUDGEMENT[label]))
    bad, bad2 = source.sample(BAD, 2)
    good, good2 = source.sample(GOOD, 2)
    return " ".join(sentences).format(
        who=source.choice(WHO),
        place=source.choice(PLACE),
        day=source.choice(DAY),
        bad=bad,
        bad2=bad2,
        good=good,
        good2=good2,
    )
