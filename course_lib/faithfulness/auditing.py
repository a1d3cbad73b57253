"""Whether the attention of any classifier may be believed, on texts of your own.

``audit(model, texts)`` takes an object with

* ``probabilities(documents)``: ``(documents, classes)``; a document is a list of words, or of
  sentences of words, as ``document(text)`` makes it of a text (by default it is split at blanks);
* ``attention(documents)``: by name of a view, an array ``(words,)`` of weights per document;

and, where it can, with ``probabilities(documents, attention=[weights, …])``, the output with other
weights (or ``attended(document)``, as ``DocumentModel`` has it, for weights in many rows);
``gradients`` (as ``DocumentModel`` has it); ``twin(seed)``, the same network trained anew from
another seed; ``untrained()``; ``classes``, names; ``unknown``, a word that it does not know. What a
model lacks is listed with what could therefore not be asked. ``adapters`` has such objects for
networks of PyTorch and of transformers. An example, with a network of your own::

    from course_lib import faithfulness

    def run(network, tokens, mask, attention=None):
        output = network(tokens, mask, attention)
        return output.logits, output.attention

    model = faithfulness.ModuleModel(network, vocabulary.encode, run)
    report = faithfulness.audit(model, texts, labels)
    report.save("audit.html")

``grades`` says what the grades mean. Nothing is cut: texts of fewer than 2 or more than
``MOST_WORDS`` words are left out and counted.
"""

import inspect
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from course_lib.faithfulness.agreement import kendall, total_variation
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.documents import (
    AuditError,
    Document,
    as_array,
    checked,
    predicted,
    words_of,
)
from course_lib.faithfulness.erasure import SHARES, aopc, comprehensiveness, counts, orders
from course_lib.faithfulness.interventions import adversarial_attention, permutation_change
from course_lib.faithfulness.rankers import (
    Importances,
    gradient_times_input,
    leave_one_out,
    magnitude,
    random_importance,
)
from course_lib.faithfulness.verdict import (
    ATTENTION,
    GRADIENT,
    ITSELF,
    LEFT_OUT,
    RANDOM,
    TOP,
    UNTRAINED,
    Report,
    Rows,
    report_of,
)
from course_lib.front_end import progress

AT_ONCE = 10  # texts that are measured to the end before the next ones begin
SLOW_TEXTS = 25  # for what asks a text very often
SHOWN = (ATTENTION, GRADIENT, LEFT_OUT)  # side by side on the page
# random rankings, whose losses are averaged, and which the limits know: of the way between them
# IRAM's attention goes 0.568 with 5 of them, 0.566 with 10 and 0.555 with 50
DRAWS = 5
SHUFFLES, EPSILON = 50, 0.01
MOST_ROWS = 64  # of an attention that an adversary moves in turn: more take hours
LEAST_WORDS, MOST_WORDS = 2, 2000
NOISE = 1e-3  # a loss below it is none
UNKNOWN = "⟨unknown⟩"
TENTH = 0.1  # of the words, rounded up


def audit(
    model: Any,
    texts: Sequence[Any],
    labels: Sequence[Any] | None = None,
    marked: Sequence[Sequence[bool]] | None = None,
    *,
    view: str | None = None,
    name: str = "",
    seed: int = 0,
) -> Report:
    """The tests of this package on a model and texts, and what they say.

    ``labels`` are classes by number or name, ``marked`` tells for every word of every text whether
    people count it as a reason; ``view`` names the attention to be tested, by default the first.
    An interrupt keeps what is measured of whole groups of texts, and the report says so.
    ``AuditError`` for fewer than two texts that can be read, and for answers that are none.
    """
    for what, values in {"labels": labels, "marked": marked}.items():
        if values is not None and len(values) != len(texts):
            raise AuditError(f"{what} takes {len(texts)} entries as texts has, got {len(values)}")
    documents, left_out = _readable(model, texts)
    asked = Asked(model, view)
    known = [math.nan if labels is None else _label(labels[n], asked.classes, n) for n in documents]
    ((most, _),) = Counter(known).most_common(1)
    guesses = [float(label == most) for label in known]
    marks = [_marks(marked, n, len(words_of(document))) for n, document in documents.items()]
    made = {
        "seed": _guarded("twin", getattr(model, "twin", lambda _: None), seed + 1),
        "training": _guarded("untrained", getattr(model, "untrained", lambda: None)),
    }
    twins = {question: Asked(twin, view) for question, twin in made.items() if twin is not None}
    given, found, pages = [*zip(documents.values(), known, guesses, marks)], [], []
    stopped = False
    try:
        with progress(total=len(given), desc="audit", unit=" texts") as bar:
            for start in range(0, len(given), AT_ONCE):
                rows, page = _measure(asked, given[start : start + AT_ONCE], start, twins, seed)
                found.append(rows)
                pages += page
                bar.update(len(page))
    except KeyboardInterrupt:
        stopped = True
        if not found:
            raise
    except ValueError as error:
        raise AuditError(str(error)) from error
    return report_of(
        found,
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


def _readable(model: Any, texts: Sequence[Any]) -> tuple[dict[int, Document], Counter]:
    """The documents that can be audited by their places among the texts, and why others cannot."""
    read = getattr(model, "document", lambda text: text.split() if isinstance(text, str) else text)
    documents, left_out, unread = {}, Counter(), ""
    for place, text in enumerate(texts):
        try:
            document = read(text)
            words = len(words_of(document))
        except (Exception, SystemExit) as error:
            left_out["cannot be read"] += 1
            unread = unread or f"; the first that cannot be read raised {_told(error)}"
            continue
        if LEAST_WORDS <= words <= MOST_WORDS:
            documents[place] = document
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
    """A class by its name; by its number only if no class has a number in its name, since "1" may
    mean "1 star" or the second class."""
    if str(label) in classes:
        return classes.index(str(label))
    numbered = any(character.isdigit() for name in classes for character in name)
    number = int(label) if str(label).isdecimal() and not numbered else -1
    if number < 0 or (classes and number >= len(classes)):
        known = f"; there are: {', '.join(classes)}" if classes else ""
        raise AuditError(f"labels: text {place} has {label!r}, which is no class{known}")
    return number


def _marks(marked: Sequence[Sequence[bool]] | None, place: int, words: int) -> np.ndarray:
    """For each word of a text whether people marked it; none where nobody was asked."""
    marks = np.zeros(words, bool) if marked is None else np.asarray(marked[place], bool)
    if marks.shape != (words,):
        raise AuditError(f"marked: text {place} takes one entry for every word")
    return marks


def _guarded(what: str, function: Callable, *arguments: Any, **options: Any) -> Any:
    """What a model's function returns; ``AuditError`` with whatever it raises."""
    try:
        return function(*arguments, **options)
    except AuditError:
        raise
    except (Exception, SystemExit) as error:
        raise AuditError(f"the model's {what} raised {_told(error)}") from error


def _told(error: BaseException) -> str:
    """What an error says, with its kind, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


class Asked:
    """A model whose answers are checked, ``known`` until that is emptied, and counted: ``cost`` has
    for each ``stage`` how many texts were asked and the seconds that took. ``view`` names the
    attention that is tested."""

    def __init__(self, model: Any, view: str | None) -> None:
        for method in ("probabilities", "attention"):
            if not hasattr(model, method):
                raise AuditError(f"{type(model).__name__} is no model: it has no {method}()")
        self.model, self.view = model, view
        self.classes = [str(name) for name in getattr(model, "classes", ())]
        takes = inspect.signature(model.probabilities).parameters
        self.takes_weights = hasattr(model, "attended") or "attention" in takes
        self.stage, self.cost, self.known = "", {}, {}

    def __call__(self, documents: Sequence[Document]) -> np.ndarray:
        """Probabilities ``(documents, classes)``."""
        keys = [repr(document) for document in documents]
        new = {key: one for key, one in zip(keys, documents) if key not in self.known}
        if new:
            self.known.update(zip(new, self._shares(self.model.probabilities, [*new.values()])))
        return np.stack([self.known[key] for key in keys])

    def attention(self, documents: Sequence[Document]) -> dict[str, Importances]:
        """All views by name, the tested one as ``ATTENTION``."""
        found = self.timed("attention", self.model.attention, documents)
        if not isinstance(found, dict) or not found:
            raise AuditError("this model has no attention: attention() must return named views")
        main = self.view or next(iter(found))
        if main not in found:
            raise AuditError(f"no attention {main!r}; there are: {', '.join(found)}")
        names = {ATTENTION: main} | {f"{ATTENTION}, {n}": n for n in found if n != main}
        return {
            name: _numbers(f"attention {each!r}", found[each], documents, least=0)
            for name, each in names.items()
        }

    def gradients(self, *arguments: Any, **options: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Per document what each word is read as, and the slopes of the log-odds there."""
        found = self.timed("gradients", self.model.gradients, *arguments, **options)
        return [(as_array(x), as_array(slope)) for x, slope in found]

    def attended(self, document: Document, weights: np.ndarray) -> tuple:
        """A document's attention, its real places, and the output with other attention."""
        if hasattr(self.model, "attended"):
            given, real, ask = _guarded("attended", self.model.attended, document)
            given, real = as_array(given), as_array(real).astype(bool)
        else:
            real = np.ones(len(weights), dtype=bool)
            given = weights / weights.sum() if weights.any() else real / len(real)

            def ask(candidates: np.ndarray) -> np.ndarray:
                many = [document] * len(candidates)
                return self.model.probabilities(many, attention=list(candidates))

        return given, real, partial(self._shares, ask)

    def _shares(self, ask: Callable, texts: Sequence[Any]) -> np.ndarray:
        found = checked(self.timed("probabilities", ask, texts), len(texts))
        if self.classes and found.shape[1] != len(self.classes):
            raise AuditError(f"{len(self.classes)} classes have {found.shape[1]} probabilities")
        return found

    def timed(
        self, what: str, function: Callable, texts: Sequence[Any], *rest: Any, **options: Any
    ) -> Any:
        """What a function of the model returns about some texts."""
        start = time.perf_counter()
        found = _guarded(what, function, texts, *rest, **options)
        spent = self.cost.setdefault(self.stage, {"texts": 0, "seconds": 0.0})
        spent["texts"] += len(texts)
        spent["seconds"] = round(spent["seconds"] + time.perf_counter() - start, 3)
        return found


def _numbers(what: str, given: Any, documents: Sequence[Document], least: float) -> Importances:
    """One finite number for each word, none below ``least``; ``AuditError`` for anything else."""
    found = _guarded(what, lambda: [as_array(each) for each in given])
    lengths = [len(words_of(document)) for document in documents]
    if [each.shape for each in found] != [(length,) for length in lengths]:
        shapes = [each.shape for each in found][:5]
        raise AuditError(
            f"{what} takes an array (words,) for each text; the first texts have "
            f"{lengths[:5]} words, and their arrays the shapes {shapes}"
        )
    if not all(np.isfinite(each).all() and (each >= least).all() for each in found):
        raise AuditError(f"{what}: numbers must be finite" + " and not below 0" * (least == 0))
    return found


def _measure(
    asked: Asked, given: list[tuple], start: int, twins: dict[str, Asked], seed: int
) -> tuple[Rows, list[dict[str, Any]]]:
    """What a group of texts says to each question, and the texts as the page shows them; ``start``
    is the place of the first, because what asks very often is measured on the first texts alone."""
    documents, labels, guesses, marks = map(list, zip(*given))
    asked.stage, asked.known = ATTENTION, {}
    rankings, (classes, sure) = asked.attention(documents), predicted(asked, documents)
    others = {question: twin.attention(documents)[ATTENTION] for question, twin in twins.items()}
    if "training" in others:
        rankings[UNTRAINED] = others["training"]
    if hasattr(asked.model, "gradients"):
        asked.stage = GRADIENT
        found = _guarded("gradients", gradient_times_input, asked.gradients, asked, documents)
        rankings[GRADIENT] = _numbers(GRADIENT, found, documents, least=-math.inf)
        rankings[f"|{GRADIENT}|"] = magnitude(rankings[GRADIENT])
    asked.stage = LEFT_OUT
    attention, left_out = rankings[ATTENTION], leave_one_out(asked, documents)
    size = magnitude(left_out)
    rankings |= {LEFT_OUT: left_out, f"|{LEFT_OUT}|": size}
    random = [random_importance(documents, seed + draw) for draw in range(DRAWS)]
    ranked = {name: [each] for name, each in rankings.items()} | {RANDOM: random}
    compared = [*chain.from_iterable(ranked.values())]
    ends = np.cumsum([len(each) for each in ranked.values()])[:-1]

    def lost(shares: Sequence[float], alone: bool = False) -> dict[str, np.ndarray]:
        """Of each ranking; all are asked together, since many of them remove the same words."""
        asks = documents * len(compared), [*chain.from_iterable(compared)], shares
        losses = comprehensiveness(asked, *asks, seed=seed, alone=alone)
        losses = losses.reshape(len(compared), len(documents), -1)
        return dict(zip(ranked, (each.mean(0) for each in np.split(losses, ends))))

    asked.stage = "removal"
    losses = lost(SHARES)
    cost = {name: each[:, SHARES.index(TENTH)] for name, each in losses.items()}
    asked.stage = "alone"
    alone = {name: each[:, 0] for name, each in lost((TENTH,), alone=True).items()}
    asked.stage = "limits"
    room = limits(asked, documents, rankings=compared, beam_up_to=0, samples=0, seed=seed)
    slow = documents[: max(0, SLOW_TEXTS - start)]
    itself, *changes = np.full((4, len(documents)), math.nan)
    if slow:
        asked.stage = "a replaced word"
        unknown = getattr(asked.model, "unknown", UNKNOWN)
        replaced = magnitude(leave_one_out(asked, slow, mask=unknown))
        itself[: len(slow)] = _tau(size[: len(slow)], replaced)
    asked.stage = "other weights"
    for n, document in enumerate(slow if asked.takes_weights else ()):
        for change, value in zip(changes, _reweighted(asked, document, attention[n], seed)):
            change[n] = value
    shown = {n: orders(documents, rankings[n], seed) for n in SHOWN if n in rankings}
    against = [loss < -NOISE for loss in left_out]
    order = _tau(attention, size)
    rows = {
        "removal": cost,
        "limits": {name: normalised_aopc(aopc(each), room) for name, each in losses.items()},
        "alone": alone,
        "order": {
            ATTENTION: order,
            RANDOM: np.mean([_tau(one, size) for one in random], axis=0),
            ITSELF: itself,
            "attention with the gradient": _tau(attention, rankings.get(f"|{GRADIENT}|")),
        },
        "signs": {
            TOP: np.array([each[top[0]] for each, top in zip(against, shown[ATTENTION])], float),
            RANDOM: np.array([each.mean() for each in against]),
        },
        "weights": {"shuffled": changes[0], "uniform": changes[1]},
        "adversary": {"the furthest weights": changes[2]},
        "seed": {"another seed": _tau(others.get("seed"), attention)},
        "training": {name: cost.get(name, itself + math.nan) for name in (ATTENTION, UNTRAINED)},
        "people": {"marked": np.array([_area(*both) for both in zip(attention, marks)])},
        "labels": {
            "network": np.where(np.isnan(labels), math.nan, classes == labels),
            "most frequent label": np.array(guesses, float),
        },
    }
    pages = [
        {
            "words": words_of(document),
            "label": str(asked.classes[classes[n]] if asked.classes else classes[n]),
            "agreement": float(np.nan_to_num(order[n])),
            "counts": [0, *counts(len(words_of(document)), SHARES).tolist()],
            "views": [
                _view(name, rankings[name][n], places[n], [sure[n], *(sure[n] - losses[name][n])])
                for name, places in shown.items()
            ],
        }
        for n, document in enumerate(documents)
    ]
    return rows, pages


def _view(name: str, values: np.ndarray, order: np.ndarray, steps: list[float]) -> dict[str, Any]:
    """What the page shows of one ranking of a text: each word's share of the largest importance,
    the words in order, and the probability at each step of erasing them."""
    shares = values / (np.abs(values).max() or 1)
    rounded = {"shares": np.round(shares, 2).tolist(), "steps": np.round(steps, 3).tolist()}
    return {"name": name, "first": order.tolist()} | rounded


def _reweighted(
    asked: Asked, document: Document, attention: np.ndarray, seed: int
) -> tuple[float, float, float]:
    """How far shuffled and even weights move the output, and how far weights go that do not."""
    given, real, answer = asked.attended(document, attention)
    options = {"attention": given, "real": real, "seed": seed}
    shuffled = permutation_change(answer, shuffles=SHUFFLES, **options)
    even = real / np.maximum(real.sum(-1, keepdims=True), 1)
    (uniform,) = total_variation(answer(even[None]), answer(given[None]))
    many = math.prod(given.shape[:-1]) > MOST_ROWS
    found = adversarial_attention(answer, epsilon=EPSILON, together=many, **options)
    return shuffled, uniform, found.divergence


def _tau(first: Importances | None, second: Importances | None) -> np.ndarray:
    """Kendall's τ of each text; a constant attention is in no order, so it agrees with nothing.
    NaN where there is none to compare."""
    if first is None or second is None:
        return np.full(len(first or second), math.nan)
    constant = np.array([np.ptp(one) == 0 and np.ptp(two) > 0 for one, two in zip(first, second)])
    return np.where(constant, 0.0, kendall(first, second))


def _area(weights: np.ndarray, marks: np.ndarray) -> float:
    """How often a marked word has more weight than another, a tie as half; NaN without a pair."""
    gaps = weights[marks][:, None] - weights[~marks]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if gaps.size else math.nan
