"""Whether the attention of any classifier may be believed, on texts of your own.

``audit(model, texts)`` takes an object with

* ``probabilities(documents)``: ``(documents, classes)``; a document is a list of words, or of
  sentences of words, as ``document(text)`` makes it of a text (by default it is split at blanks);
* ``attention(documents)``: by name of a view, an array ``(words,)`` of weights per document;

and, where it can, with ``probabilities(documents, attention=[weights, …])``, the output with other
weights (or ``attended(document)``, as ``DocumentModel`` has it, for weights in many rows);
``gradients`` (``rankers.Gradients``); ``twin(seed)``, the same network trained anew from another
seed; ``untrained()``; ``classes``, names; ``unknown``, a word that it does not know. What a model
lacks is listed with what could therefore not be asked. ``adapters`` has such objects for networks
of PyTorch and of transformers. An example, with a network of your own::

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
from typing import Any

import numpy as np

from course_lib.faithfulness.agreement import kendall, total_variation
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.documents import Document, words_of
from course_lib.faithfulness.erasure import (
    SHARES,
    aopc,
    comprehensiveness,
    counts,
    orders,
    sufficiency,
)
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
    LEFT_OUT,
    RANDOM,
    UNTRAINED,
    Report,
    report_of,
)
from course_lib.front_end import progress

AT_ONCE = 10  # texts that are measured to the end before the next ones begin
SLOW_TEXTS, LIMITED = 25, 10  # for what asks a text very often; for limits, that ask most
DRAWS = 3  # random rankings, whose losses are averaged
SHUFFLES, EPSILON, MOST_ROWS = 50, 0.01, 64  # an attention of more rows takes hours to search
LEAST_WORDS, MOST_WORDS = 2, 2000
NOISE = 1e-3  # a loss below it is none
UNKNOWN = "⟨unknown⟩"
TENTH = 0.1  # of the words, rounded up
MEASURES = {"removal": comprehensiveness, "alone": sufficiency}
Found = list[dict[str, Any]]


class AuditError(ValueError):
    """Texts, or answers of a model, that cannot be audited."""


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
    asked, places, given = Asked(model, view), list(documents), list(documents.values())
    known = [] if labels is None else [_label(labels[n], asked.classes, n) for n in places]
    marks = [] if marked is None else [np.asarray(marked[n], dtype=bool) for n in places]
    for place, document, each in zip(places, given, marks):
        if each.shape != (len(words_of(document)),):
            raise AuditError(f"marked: text {place} takes one entry for every word")
    made = {
        "seed": _guarded("twin", getattr(model, "twin", lambda _: None), seed + 1),
        "training": _guarded("untrained", getattr(model, "untrained", lambda: None)),
    }
    twins = {question: Asked(twin, view) for question, twin in made.items() if twin is not None}
    found: Found = []
    stopped = False
    try:
        with progress(total=len(given), desc="audit", unit=" texts") as bar:
            for start in range(0, len(given), AT_ONCE):
                found += _measure(asked, given[start : start + AT_ONCE], start, twins, seed)
                bar.update(len(found) - start)
    except KeyboardInterrupt:
        stopped = True
        if not found:
            raise
    for one, label in zip(found, known):
        one |= {"right": float(one["class"] == label), "label": label}
    for one, each in zip(found, marks):
        one["people"] = _area(one["importances"][ATTENTION], each)
    no_weights = None if asked.takes_weights else "the model takes no attention from outside"
    missing = {
        "weights": no_weights,
        "adversary": no_weights,
        "seed": None if "seed" in twins else "no network of another seed is at hand",
        "training": None if "training" in twins else "the untrained network is not at hand",
        "labels": None if known else "the texts have no labels",
        "people": None if marks else "no words are marked by people",
    }
    about = {
        "given": len(texts),
        "measured": len(found),
        "left_out": dict(left_out),
        "stopped": stopped,
        "words": float(np.mean([len(one["words"]) for one in found])),
    }
    return report_of(
        found,
        {question: why for question, why in missing.items() if why},
        name=name or type(model).__name__,
        counts=about,
        cost=asked.cost(),
        texts=tuple(_text(one, asked.classes) for one in found),
    )


def _readable(model: Any, texts: Sequence[Any]) -> tuple[dict[int, Document], Counter]:
    """The documents that can be audited by their places among the texts, and why others cannot."""
    read = getattr(model, "document", lambda text: text.split() if isinstance(text, str) else text)
    documents, left_out = {}, Counter()
    for place, text in enumerate(texts):
        try:
            document = read(text)
            words = len(words_of(document))
        except Exception:
            left_out["cannot be read"] += 1
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
            f"{len(documents)}" + (f" ({why})" if why else "")
        )
    return documents, left_out


def _label(label: Any, classes: Sequence[str], place: int) -> int:
    """A class by its name or its number."""
    if str(label) in classes:
        return classes.index(str(label))
    number = int(label) if str(label).isdecimal() else -1
    if number < 0 or (classes and number >= len(classes)):
        known = f"; there are: {', '.join(classes)}" if classes else ""
        raise AuditError(f"labels: text {place} has {label!r}, which is no class{known}")
    return number


def _guarded(what: str, function: Callable, *arguments: Any, **options: Any) -> Any:
    """What a model's function returns; ``AuditError`` with whatever it raises."""
    try:
        return function(*arguments, **options)
    except AuditError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())
        raise AuditError(f"the model's {what} raised {type(error).__name__}: {why}") from error


class Asked:
    """A model whose answers are checked and counted; within a group of texts it is asked once for
    every text. ``view`` names the attention that is tested."""

    def __init__(self, model: Any, view: str | None) -> None:
        self.model, self.view, self.stage = model, view, ""
        self.classes = [str(name) for name in getattr(model, "classes", ())]
        takes = inspect.signature(model.probabilities).parameters
        self.takes_weights = hasattr(model, "attended") or "attention" in takes
        self._counts, self._seconds = Counter(), Counter()
        self._known: dict[str, np.ndarray] = {}

    def begin(self, stage: str) -> None:
        """What follows counts as this stage; the first of a group forgets the group before."""
        self.stage = stage
        if stage == ATTENTION:
            self._known.clear()

    def __call__(self, documents: Sequence[Document]) -> np.ndarray:
        """Probabilities ``(documents, classes)``."""
        keys = [repr(document) for document in documents]
        new = {key: one for key, one in zip(keys, documents) if key not in self._known}
        if new:
            some = [*new.values()]
            answers = self._timed("probabilities", self.model.probabilities, len(some), some)
            self._known.update(zip(new, _probabilities(answers, len(some))))
        return np.stack([self._known[key] for key in keys])

    def attention(self, documents: Sequence[Document]) -> dict[str, Importances]:
        """All views by name, the tested one as ``ATTENTION``."""
        found = self._timed("attention", self.model.attention, len(documents), documents)
        if not isinstance(found, dict) or not found:
            raise AuditError("this model has no attention: attention() must return named views")
        main = self.view or next(iter(found))
        if main not in found:
            raise AuditError(f"no attention {main!r}; there are: {', '.join(found)}")
        names = {ATTENTION: main} | {f"{ATTENTION}, {n}": n for n in found if n != main}
        return {name: _weights(each, found[each], documents) for name, each in names.items()}

    def gradients(self, documents: Sequence[Document], *rest: Any, **options: Any) -> list:
        """As ``rankers.Gradients``."""
        gradients = self.model.gradients
        return self._timed("gradients", gradients, len(documents), documents, *rest, **options)

    def attended(self, document: Document, weights: np.ndarray) -> tuple[np.ndarray, ...]:
        """A document's attention, its real places, and the output with other attention."""
        real = np.ones(len(weights), dtype=bool)
        weights = weights / weights.sum() if weights.any() else real / len(real)

        def ask(candidates: np.ndarray) -> np.ndarray:
            many = [document] * len(candidates)
            return self.model.probabilities(many, attention=list(candidates))

        if hasattr(self.model, "attended"):
            weights, real, ask = _guarded("attended", self.model.attended, document)

        def answer(candidates: np.ndarray) -> np.ndarray:
            found = self._timed("probabilities", ask, len(candidates), candidates)
            return _probabilities(found, len(candidates))

        return weights, real, answer

    def cost(self) -> dict[str, dict[str, float]]:
        """How many texts were asked in each stage, and the seconds that took."""
        seconds = {stage: round(spent, 1) for stage, spent in self._seconds.items()}
        return {s: {"texts": n, "seconds": seconds[s]} for s, n in self._counts.items()}

    def _timed(self, what: str, function: Callable, count: int, *given: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return _guarded(what, function, *given, **options)
        finally:
            self._counts[self.stage] += count
            self._seconds[self.stage] += time.perf_counter() - start


def _probabilities(answers: Any, count: int) -> np.ndarray:
    answers = np.asarray(answers, dtype=np.float64)
    if answers.ndim != 2 or len(answers) != count or answers.shape[1] < 2:
        raise AuditError(f"probabilities takes {count} documents, got the shape {answers.shape}")
    if not np.isfinite(answers).all():
        raise AuditError("probabilities holds numbers that are not finite (NaN or infinite)")
    wrong = (np.abs(answers.sum(1) - 1) > 1e-3) | (answers < 0).any(1)
    if wrong.any():
        row = answers[wrong][0].round(4).tolist()
        raise AuditError(f"probabilities must sum to 1; a row is {row}. Apply a softmax to logits.")
    return answers


def _weights(name: str, given: Any, documents: Sequence[Document]) -> Importances:
    found = [np.asarray(weights, dtype=np.float64) for weights in given]
    lengths = [len(words_of(document)) for document in documents]
    if [weights.shape for weights in found] != [(length,) for length in lengths]:
        shapes = [weights.shape for weights in found][:5]
        raise AuditError(
            f"attention {name!r} takes an array (words,) for each text; the first texts have "
            f"{lengths[:5]} words, and their arrays the shapes {shapes}"
        )
    if not all(np.isfinite(weights).all() and (weights >= 0).all() for weights in found):
        raise AuditError(f"attention {name!r}: weights must be finite and not below 0")
    return found


def _measure(
    asked: Asked, documents: list[Document], start: int, twins: dict[str, Asked], seed: int
) -> Found:
    """All measures of a group of texts, one dictionary a text; ``start`` is the place of the
    group's first, because what asks very often is measured on the first texts alone."""
    asked.begin(ATTENTION)
    rankings, answers = asked.attention(documents), asked(documents)
    others = {name: twin.attention(documents)[ATTENTION] for name, twin in twins.items()}
    if "training" in others:
        rankings[UNTRAINED] = others["training"]
    if hasattr(asked.model, "gradients"):
        asked.begin(GRADIENT)
        rankings[GRADIENT] = gradient_times_input(asked.gradients, asked, documents)
        rankings[f"|{GRADIENT}|"] = magnitude(rankings[GRADIENT])
    asked.begin(LEFT_OUT)
    attention, left_out = rankings[ATTENTION], leave_one_out(asked, documents)
    size = magnitude(left_out)
    rankings |= {LEFT_OUT: left_out, f"|{LEFT_OUT}|": size}
    random = [random_importance(documents, seed + draw) for draw in range(DRAWS)]
    lost: dict[str, dict[str, np.ndarray]] = {name: {} for name in MEASURES}
    for name, measure in MEASURES.items():
        asked.begin(name)
        options = {"shares": (TENTH,), "seed": seed}
        for each, scores in rankings.items():
            lost[name][each] = measure(asked, documents, scores, **options)[:, 0]
        drawn = [measure(asked, documents, scores, **options)[:, 0] for scores in random]
        lost[name][RANDOM] = np.mean(drawn, axis=0)
    asked.begin("steps of the page")
    shown = {n: rankings[n] for n in (ATTENTION, GRADIENT, LEFT_OUT) if n in rankings}
    steps = {n: comprehensiveness(asked, documents, each, seed=seed) for n, each in shown.items()}
    first = {name: orders(documents, each, seed) for name, each in shown.items()}
    agreement = {
        "order": _tau(attention, size),
        "order, random words": np.mean([_tau(one, size) for one in random], axis=0),
    }
    if "seed" in others:
        agreement["seed"] = _tau(others["seed"], attention)
    if GRADIENT in rankings:
        agreement["order, gradient"] = _tau(attention, rankings[f"|{GRADIENT}|"])
    found = [
        {
            "words": words_of(document),
            "class": int(answers[n].argmax()),
            "probability": float(answers[n].max()),
            "importances": {name: each[n] for name, each in shown.items()},
            "first": {name: each[n] for name, each in first.items()},
            "steps": {name: each[n] for name, each in steps.items()},
            "lost": {m: {r: loss[n] for r, loss in each.items()} for m, each in lost.items()},
            "against": float(left_out[n][first[ATTENTION][n][0]] < -NOISE),
            "against, random words": float((left_out[n] < -NOISE).mean()),
            "limits": {},
            **{name: values[n] for name, values in agreement.items()},
        }
        for n, document in enumerate(documents)
    ]
    if slow := documents[: max(0, SLOW_TEXTS - start)]:
        _measure_slowly(asked, slow, found, attention, size, seed)
    if limited := documents[: max(0, LIMITED - start)]:
        compared = {n: each[: len(limited)] for n, each in rankings.items()}
        _measure_limits(asked, limited, found, compared | {RANDOM: random[0][: len(limited)]}, seed)
    return found


def _measure_slowly(
    asked: Asked,
    documents: list[Document],
    found: Found,
    attention: Importances,
    size: Importances,
    seed: int,
) -> None:
    """How leave-one-out agrees with itself, and what other weights do to the output."""
    asked.begin("a replaced word")
    unknown = getattr(asked.model, "unknown", UNKNOWN)
    replaced = magnitude(leave_one_out(asked, documents, mask=unknown))
    for one, value in zip(found, _tau(size[: len(documents)], replaced)):
        one["order, itself"] = value
    asked.begin("other weights")
    for one, document, weights in zip(found, documents if asked.takes_weights else (), attention):
        given, real, answer = asked.attended(document, weights)
        even = real / np.maximum(real.sum(-1, keepdims=True), 1)
        options = {"attention": given, "real": real, "seed": seed}
        one["weights"] = permutation_change(answer, shuffles=SHUFFLES, **options)
        one["uniform"] = float(total_variation(answer(even[None]), answer(given[None]))[0])
        if np.prod(given.shape[:-1]) <= MOST_ROWS:
            one["adversary"] = adversarial_attention(answer, epsilon=EPSILON, **options).divergence


def _measure_limits(
    asked: Asked,
    documents: list[Document],
    found: Found,
    rankings: dict[str, Importances],
    seed: int,
) -> None:
    """Where each ranking's loss lies between the least and the most that any ranking could cost."""
    asked.begin("limits")
    room = limits(asked, documents, seed=seed, rankings=[*rankings.values()], beam_up_to=0)
    for name, scores in rankings.items():
        areas = aopc(comprehensiveness(asked, documents, scores, seed=seed))
        for one, value in zip(found, normalised_aopc(areas, room)):
            one["limits"][name] = value


def _tau(first: Importances, second: Importances) -> np.ndarray:
    """Kendall's τ of each text; a constant attention is in no order, so it agrees with nothing."""
    constant = np.array([np.ptp(one) == 0 and np.ptp(two) > 0 for one, two in zip(first, second)])
    return np.where(constant, 0.0, kendall(first, second))


def _area(weights: np.ndarray, marks: np.ndarray) -> float:
    """How often a marked word has more weight than another, a tie as half; NaN without a pair."""
    gaps = weights[marks][:, None] - weights[~marks]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if gaps.size else math.nan


def _text(one: dict[str, Any], classes: Sequence[str]) -> dict[str, Any]:
    """A text as the page shows it: its words, importances by ranking, the places that each puts
    first, and the probability when the first ``counts`` of them are erased."""
    numbers, p = counts(len(one["words"]), SHARES).tolist(), one["probability"]
    return {
        "words": one["words"],
        "label": str(classes[one["class"]] if classes else one["class"]),
        "counts": [0, *numbers],
        "importances": {name: each.tolist() for name, each in one["importances"].items()},
        "first": {name: each[: max(numbers)].tolist() for name, each in one["first"].items()},
        "steps": {n: np.round([p, *(p - each)], 3).tolist() for n, each in one["steps"].items()},
        "agreement": 0.0 if math.isnan(one["order"]) else float(one["order"]),
    }
