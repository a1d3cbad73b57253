"""The simple baseline that attention has to beat: weighted word counts and a linear classifier."""

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
import torch
from safetensors.numpy import load_file

from course_lib.checking import check_positive, check_whole
from course_lib.data.config import TextConfig
from course_lib.data.readers import clean
from course_lib.data.text import normalised, words_and_signs
from course_lib.data.vocabulary import Vocabulary
from course_lib.metrics.classification import Predictions
from course_lib.runs.settings import Settings, SpecError, differences
from course_lib.runs.systems.system import Evaluation, Rows, Text, as_tokens
from course_lib.training.config import TrainingError
from course_lib.training.weights import save_weights
from course_lib.views.reading import Reading


@dataclass(frozen=True)
class TfidfConfig:
    """``longest``: length of the longest word sequences counted; ``minimum_documents``: number of
    training documents in which a sequence must occur."""

    longest: int = 2
    minimum_documents: int = 2

    def __post_init__(self) -> None:
        check_whole(self, "longest", "minimum_documents")


@dataclass(frozen=True)
class RegressionConfig:
    """Logistic regression; its fit ends when the gradient is below ``tolerance``.

    The regularisation was chosen by validation loss among 1, 3, 10, 30 and 100.
    """

    inverse_regularisation: float = 30.0
    tolerance: float = 1e-6
    most_iterations: int = 2000

    def __post_init__(self) -> None:
        check_positive(self, "inverse_regularisation", "tolerance")
        check_whole(self, "most_iterations")


DEFAULT = Settings(TextConfig(vectors="none"), TfidfConfig(), RegressionConfig())


class TfidfSystem:
    """TF-IDF of words and sequences of words of whole texts, then logistic regression."""

    presets: ClassVar = {
        "default": DEFAULT,
        "words": replace(
            DEFAULT,
            model=TfidfConfig(longest=1),
            training=RegressionConfig(inverse_regularisation=10.0),
        ),
    }

    def __init__(
        self, settings: Settings, classes: tuple[str, ...], tokeniser: str = "english"
    ) -> None:
        """Settings and the names of the classes; ``tokeniser`` is as for networks."""
        self.settings, self.classes, self.tokeniser = settings, tuple(classes), tokeniser
        self.words: Any = None  # scikit-learn takes a second to import, so functions do it
        self.regression: Any = None

    @classmethod
    def check(cls, settings: Settings, rows: int | None = None) -> None:
        """Raise ``SpecError`` for settings that cannot run, on that many training rows if given."""
        usual = replace(DEFAULT, model=settings.model, training=settings.training)
        for name in differences(settings, usual):
            if name != "text.validation_share":
                raise SpecError(f"{name} has no meaning here: whole texts' words are counted")
        least = settings.model.minimum_documents
        if rows is not None and least > rows:
            raise SpecError(
                f"model.minimum_documents takes at most the {rows} training rows, got {least}"
            )

    def vectoriser(self, **changes: Any) -> Any:
        """The counter of words, not fitted yet."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        model = self.settings.model
        if self.tokeniser == "unicode":  # scikit-learn's own words leave out single characters
            changes = {"tokenizer": words_and_signs, "token_pattern": None} | changes
        return TfidfVectorizer(
            ngram_range=(1, model.longest),
            sublinear_tf=True,
            dtype=np.float32,
            **{"min_df": model.minimum_documents} | changes,
        )

    def encode(self, rows: datasets.Dataset) -> Any:
        """Weighted counts ``(rows, terms)``."""
        return self.words.transform(rows["text"][:])

    def build(self, rows: Rows, seed: int) -> None:
        """Count the words of the training rows; ``SpecError`` where none is left to count."""
        from sklearn.linear_model import LogisticRegression

        try:
            self.words = self.vectoriser().fit(rows["train"]["text"][:])
        except ValueError as error:  # which scikit-learn raises where no word is left
            least = self.settings.model.minimum_documents
            raise SpecError(
                f"model.minimum_documents is {least}, and no word occurs in that many training rows"
            ) from error
        training = self.settings.training
        self.regression = LogisticRegression(
            C=training.inverse_regularisation,
            tol=training.tolerance,
            max_iter=training.most_iterations,
            random_state=seed,
        )

    def fit(self, rows: Rows, seed: int, **options: Any) -> dict[str, Any]:
        """Fit the classifier; returns seconds and iterations.

        ``TrainingError`` if it does not converge: results must not depend on where it stopped.
        """
        from sklearn.exceptions import ConvergenceWarning

        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            try:
                self.regression.fit(self.encode(rows["train"]), rows["train"]["label"][:])
            except ConvergenceWarning as warning:
                raise TrainingError(
                    f"logistic regression has not converged in "
                    f"{self.settings.training.most_iterations} iterations; raise "
                    "training.most_iterations or training.tolerance"
                ) from warning
        return {
            "fit_seconds": round(time.perf_counter() - start, 1),
            "iterations": int(self.regression.n_iter_.max()),
        }

    def probabilities(self, counts: Any) -> np.ndarray:
        """``(rows, classes)``, 0 for a class that the training rows lack."""
        every = np.zeros((counts.shape[0], len(self.classes)))
        every[:, self.regression.classes_] = self.regression.predict_proba(counts)
        return every

    def evaluate(self, rows: datasets.Dataset, attention: bool = True) -> Evaluation:
        """Predictions for rows; there is no attention."""
        probabilities = torch.from_numpy(self.probabilities(self.encode(rows)))
        return Evaluation(Predictions(probabilities, torch.tensor(rows["label"][:])), {})

    def read(self, text: Text) -> Reading:
        """The whole text's tokens and probabilities; there is no attention."""
        document = as_tokens(text, self.tokeniser)
        whole = normalised(text) if isinstance(text, str) else clean(" ".join(document.tokens))
        if not isinstance(text, str) and "text" in text:
            whole = clean(text["text"])
        probabilities = self.probabilities(self.words.transform([whole]))[0]
        lengths = tuple(document.sentence_lengths)
        return Reading(tuple(document.tokens), lengths, self.classes, probabilities, {})

    def save(self, folder: Path) -> None:
        """Save terms, their weights and the classifier's weights in a folder."""
        Vocabulary(tuple(self.words.get_feature_names_out())).save(folder / "vocabulary.txt")
        arrays = {
            "idf": self.words.idf_,
            "coefficients": self.regression.coef_,
            "intercept": self.regression.intercept_,
            "classes": self.regression.classes_,
        }
        state = {name: torch.from_numpy(np.asarray(values)) for name, values in arrays.items()}
        save_weights(state, folder / "model.safetensors")

    def load(self, folder: Path) -> None:
        """Load them from there."""
        from sklearn.linear_model import LogisticRegression

        terms = Vocabulary.load(folder / "vocabulary.txt").words
        arrays = load_file(folder / "model.safetensors")
        self.words = self.vectoriser(vocabulary=terms)
        self.words.idf_ = arrays["idf"]
        self.regression = LogisticRegression()
        self.regression.coef_ = arrays["coefficients"]
        self.regression.intercept_ = arrays["intercept"]
        self.regression.classes_ = arrays["classes"]
