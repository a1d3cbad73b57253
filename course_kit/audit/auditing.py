"""Audit a classifier: may its attention be believed, on texts of your own?

``audit(model, texts)`` takes an object with

* ``probabilities(documents)``: ``(documents, classes)``; a document is a list of words, or of
  sentences of words, as ``document(text)`` makes it of a text (by default it is split at blanks);
* ``attention(documents)``: by name of a view, an array ``(words,)`` of weights per document;

and, where it can, with ``probabilities(documents, attention=[weights, …])``, the output with other
weights in the place of those of a view (or ``attended(document)``, as ``DocumentModel`` has it, for
weights in many rows); ``gradients`` (as ``DocumentModel`` has it); ``twin(seed)``, the same network
trained anew from another seed; ``untrained()``; ``classes``, names; ``unknown``, a word that it
does not know. What a model lacks is listed with what could therefore not be asked. ``adapters`` has
such objects for networks of PyTorch and of transformers. An example, with a network of your own::

    from course_kit.audit import ModuleModel, audit

    def run(network, tokens, mask, attention=None):
        output = network(tokens, mask, attention)
        return output.logits, output.attention

    model = ModuleModel(network, vocabulary.encode, run)
    report = audit(model, texts, labels)
    report.save("audit.html")

``grades.yaml`` says what the verdicts mean. Nothing is cut: repeated texts, and those
of fewer than 2 or more than ``MOST_WORDS`` words, are left out and counted.
"""

import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_kit.audit.asking import Asked, AuditError, guarded, told
from course_kit.audit.audit_report import AuditReport, report_of
from course_kit.audit.group import SLOW_STAGES, SLOW_TEXTS, Group, whole_of
from course_kit.audit.measuring import measure
from course_lib.faithfulness.documents import Document, words_of
from course_lib.front_end import one_bar

AT_ONCE = 10  # texts that are measured to the end before the next ones begin
LEAST_WORDS, MOST_WORDS = 2, 2000


def audit(
    model: Any,
    texts: Sequence[Any],
    labels: Sequence[Any] | None = None,
    marked: Sequence[Sequence[bool]] | None = None,
    *,
    view: str | None = None,
    name: str = "",
    seed: int = 0,
) -> AuditReport:
    """Put a model's attention through all tests on some texts.

    An interrupt keeps the groups of texts that are measured, and the report says so.

    Parameters
    ----------
    labels: classes by number or name
    marked: for every word of every text whether people count it as a reason
    view: name of the attention to be tested; by default all, and the verdict is that of the
        weakest
    name: of the model, for the report
    seed: of the random rankings, and of the shuffled weights

    Raises
    ------
    AuditError: fewer than two texts can be read, or an answer of the model is not one
    """
    for what, values in {"labels": labels, "marked": marked}.items():
        if values is not None and len(values) != len(texts):
            raise AuditError(f"{what} takes {len(texts)} entries as texts has, got {len(values)}")
    labels = None if labels is None else [*labels]  # by place, also those of a table's column
    marked = None if marked is None else [*marked]
    documents, left_out = _readable(model, texts)
    asked = Asked(model, view)
    known = [math.nan if labels is None else _label(labels[n], asked.classes, n) for n in documents]
    ((most, _),) = Counter(known).most_common(1)
    guesses = [float(label == most) for label in known]
    marks = [_marks(marked, n, len(words_of(document))) for n, document in documents.items()]
    made = {
        "seed": guarded("twin", getattr(model, "twin", lambda _: None), seed + 1),
        "training": guarded("untrained", getattr(model, "untrained", lambda: None)),
    }
    twins = {question: Asked(twin, view) for question, twin in made.items() if twin is not None}
    given, found, pages = [*zip(documents.values(), known, guesses, marks)], [], []
    # groups hold texts of all classes, also of a file that is sorted by them
    given = [given[n] for n in np.random.default_rng(seed).permutation(len(given))]
    pool = sorted(map(words_of, documents.values()))  # whatever the order of the texts
    stopped = False
    try:
        if len(given) > AT_ONCE:
            first = f"The first {AT_ONCE} of {len(given)} texts will tell how long this takes …"
            print(first, file=sys.stderr, flush=True)
        everything = whole_of(asked, [document for document, *_ in given], AT_ONCE)
        before, begun = asked.known, time.perf_counter()
        with one_bar(total=len(given), desc="audit", unit=" texts") as bar:
            for start in range(0, len(given), AT_ONCE):
                asked.known = dict(before)
                some = given[start : start + AT_ONCE]
                rows, page = measure(Group(asked, some, everything, start, pool, twins, seed))
                found.append(rows)
                pages += page
                bar.update(len(page))
                if start == 0 and len(given) > AT_ONCE:
                    spent = time.perf_counter() - begun
                    rest = remaining_seconds(spent, asked.cost, len(page), len(given))
                    bar.write(f"The others take about {in_words(rest)}.", file=sys.stderr)
    except KeyboardInterrupt:
        stopped = True
        if not found:
            raise
    except ValueError as error:
        raise AuditError(str(error)) from error
    return report_of(
        found,
        asked.first_view,
        name=name or type(model).__name__,
        counts={
            "given": len(texts),
            "measured": len(pages),
            "left_out": dict(left_out),
            "stopped": stopped,
            "words": float(np.mean([len(page["words"]) for page in pages])),
        },
        cost=asked.cost,
        texts=tuple(pages),
    )


def remaining_seconds(
    spent: float, cost: dict[str, dict[str, float]], done: int, texts: int
) -> float:
    """Return how long an audit still takes after its first ``done`` texts.

    Parameters
    ----------
    spent: seconds that these took
    cost: how much of that went to each stage; the slow ones ask ``SLOW_TEXTS`` alone
    """
    slow = sum(cost[stage]["seconds"] for stage in SLOW_STAGES if stage in cost)
    return (spent - slow) / done * (texts - done) + slow / done * (min(SLOW_TEXTS, texts) - done)


def in_words(seconds: float) -> str:
    """Return a time as somebody says it who does not know it exactly."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    return f"{round(seconds / 60)} minutes"


def _readable(model: Any, texts: Sequence[Any]) -> tuple[dict[int, Document], Counter]:
    """Return the documents that can be audited by their places, and count why others cannot."""
    read = getattr(model, "document", lambda text: text.split() if isinstance(text, str) else text)
    documents, left_out, unread, seen = {}, Counter(), "", set()
    for place, text in enumerate(texts):
        try:
            document = read(text)
            words = len(words_of(document))
        except (Exception, SystemExit) as error:
            left_out["cannot be read"] += 1
            unread = unread or f"; the first that cannot be read raised {told(error)}"
            continue
        if repr(document) in seen:
            left_out["repeated"] += 1
        elif LEAST_WORDS <= words <= MOST_WORDS:
            documents[place] = document
            seen.add(repr(document))
        else:
            short = words < LEAST_WORDS
            left_out["of fewer than 2 words" if short else f"of more than {MOST_WORDS:,}"] += 1
    if len(documents) < 2:
        why = "; ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise AuditError(
            f"an audit takes at least two texts of {LEAST_WORDS} to {MOST_WORDS:,} words, got "
            f"{len(documents)}" + (f" ({why}{unread})" if why else "")
        )
    return documents, left_out


def _label(label: Any, classes: Sequence[str], place: int) -> int:
    """Find a class by its name; by its number only if no class has a number in its name, since "1"
    may mean "1 star" or the second class."""
    if str(label) in classes:
        return classes.index(str(label))
    numbered = any(character.isdigit() for name in classes for character in name)
    number = int(label) if str(label).isdecimal() and not numbered else -1
    if number < 0 or (classes and number >= len(classes)):
        known = f"; there are: {', '.join(classes)}" if classes else ""
        raise AuditError(f"labels: text {place} has {label!r}, which is no class{known}")
    return number


def _marks(marked: Sequence[Sequence[bool]] | None, place: int, words: int) -> np.ndarray:
    """Return for each word of a text whether people marked it; False where nobody was asked."""
    marks = np.zeros(words, bool) if marked is None else np.asarray(marked[place], bool)
    if marks.shape != (words,):
        raise AuditError(f"marked: text {place} takes one entry for every word")
    return marks
