"""The reading room's engine beside what it states again: NLTK's tokens, and PyTorch's networks.

``tokens`` compares the tokens and sentences of all test halves; ``networks`` compares logits and
attention in float32, and then all test predictions with the weights as they are shipped;
``packing`` measures what shipping costs probabilities and attention, ``pretrained`` compares MiniLM
as it is shipped, texts as typed. All run the engine in Node or
in a browser and write ``results/reading_room/``, where a browser's records have its name.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from browsers import running, version
from scipy.special import softmax
from tqdm.auto import tqdm

from course_kit.reading_room.pack import PRETRAINED, ROOM, bundle, open_runs
from course_kit.reading_room.packed import as_text
from course_kit.reading_room.script import engine
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.encoding import encode_sentences
from course_lib.data.readers import clean
from course_lib.data.text import fetch_punkt, trained_punkt, treebank_words
from course_lib.files import data_root
from course_lib.javascript import joined
from course_lib.runs.folders import RESULTS
from course_lib.runs.records import describe_environment, write_json
from course_lib.runs.run import Run
from course_lib.runs.systems.system import as_tokens
from course_lib.runs.weights import DIGEST
from course_lib.training.devices import use_threads

DRIVER = Path(__file__).with_suffix(".mjs")
ANSWERS = Path(__file__).with_name("reading_room_answers.js")
AT_ONCE = 20  # questions a message to a page
Asked = Callable[[bytes, Iterable[dict[str, Any]]], Iterator[dict[str, Any]]]
TYPED = {"sst2_sentences": 880, "ag_news": 120}  # texts of each
CORPORA = (
    *("imdb", "ag_news", "amazon_full", "huffpost", "movies2", "movies5"),
    *("sst2", "sst5"),  # tokens joined by blanks, tokenised again here
)


def main() -> None:
    """Compare and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("tokens", "networks", "packing", "pretrained"))
    parser.add_argument("--corpora", nargs="*", default=CORPORA, help="for tokens (all of them)")
    parser.add_argument("--models", nargs="*", default=ROOM, help="for networks (the room's)")
    parser.add_argument("--texts", type=int, default=500, help="a network, in float32 (500)")
    parser.add_argument("--most", type=int, default=None, help="test texts of a corpus (all)")
    parser.add_argument(
        "--inside", choices=("node", "chromium"), default="node", help="what runs the engine"
    )
    chosen = parser.parse_args()
    environment = describe_environment(torch.device("cpu"), use_threads(1))
    where = {chosen.inside: node() if chosen.inside == "node" else version()}
    asked = in_node if chosen.inside == "node" else in_a_page
    datasets.disable_progress_bars()
    work: dict[str, Callable[[], dict[str, Any]]] = {}
    if chosen.what == "tokens":
        work["tokens"] = lambda: {
            name: compare_tokens(load_corpus(name), chosen.most, asked) for name in chosen.corpora
        }
    elif chosen.what == "packing":
        work["packing"] = lambda: {
            run.record["id"]: compare_shipped(run, chosen.texts, asked)
            for run in open_runs(chosen.models)
        }
    elif chosen.what == "pretrained":
        work["pretrained"] = partial(compare_typed, *open_runs([PRETRAINED]), asked)
    else:
        work |= {name: partial(compare_recorded, name, chosen, asked) for name in chosen.models}
    for name, find in work.items():
        kept = name if chosen.inside == "node" else f"{name}-{chosen.inside}"
        record(kept, environment | where, find)


def compare_recorded(name: str, chosen: argparse.Namespace, asked: Asked) -> dict[str, Any]:
    """A recorded network, compared as it was asked for."""
    (run,) = open_runs([name])
    return compare_network(run, chosen.texts, chosen.most, asked)


def record(name: str, environment: dict[str, Any], compare: Callable[[], dict[str, Any]]) -> None:
    """Leave ``results/reading_room/NAME.json``: what ``compare`` finds, and what a rerun needs."""
    start = time.perf_counter()
    figures = compare()
    result = {
        "command": " ".join(["python", "benchmarks/reading_room.py", *sys.argv[1:]]),
        "environment": environment,
        "seconds": round(time.perf_counter() - start, 1),
        "figures": figures,
    }
    write_json(RESULTS / "reading_room" / f"{name}.json", result)
    print(json.dumps(figures, indent=1))


def node() -> str:
    """Node's version."""
    return subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()


def in_node(packed: bytes, questions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The engine's answers, in order, from Node."""
    with tempfile.TemporaryDirectory(dir=data_root()) as folder:
        place, lines = Path(folder) / "bundle", Path(folder) / "questions"
        place.write_text(as_text(packed))
        with lines.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(question) + "\n" for question in questions)
        with (
            lines.open("rb") as file,
            subprocess.Popen(
                ["node", str(DRIVER), str(place)], stdin=file, stdout=subprocess.PIPE
            ) as process,
        ):
            yield from map(json.loads, process.stdout)
        if process.returncode:
            raise SystemExit(f"node ended with status {process.returncode}")


def in_a_page(packed: bytes, questions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The engine's answers, in order, from a page that holds it as the reading room does."""
    asking = re.sub(r"^export ", "", joined([ANSWERS.read_text()]), flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder, running() as open_page:
        place = Path(folder) / "engine.html"
        place.write_text(
            "<!DOCTYPE html><meta charset='utf-8'>"
            f"<script>{engine()}\n{asking}</script><p hidden id='bundle'>{as_text(packed)}</p>",
            encoding="utf-8",
        )
        ask = open_page(place.as_uri())
        ask("""async () => {
            window.reply = await answering(document.getElementById("bundle").textContent);
        }""")
        waiting = iter(questions)
        while several := list(islice(waiting, AT_ONCE)):
            yield from ask("questions => questions.map(window.reply)", several)


def of_test_half(corpus: Corpus, most: int | None) -> datasets.Dataset:
    """The first ``most`` rows of the test half, which is in an order fixed for good."""
    rows = corpus.splits["test"]
    return rows.select(range(min(len(rows), most or len(rows))))


def compare_tokens(corpus: Corpus, most: int | None, asked: Asked) -> dict[str, Any]:
    """How many texts have other tokens, given the same sentences, and how many other sentences."""
    splitter = trained_punkt(fetch_punkt())
    texts = of_test_half(corpus, most)["text"]
    expected = [splitter.tokenize(text) for text in tqdm(texts, desc=f"{corpus.card.name}: Punkt")]
    questions = ({"text": text, "given": given} for text, given in zip(texts, expected))
    answers = asked(bundle([]), questions)
    keys = ("texts", "texts with other tokens", "texts split otherwise", "sentences")
    counts = dict.fromkeys((*keys, "sentences missing"), 0)
    for given, answer in zip(tqdm(expected, desc=f"{corpus.card.name}: tokens"), answers):
        counts["texts"] += 1
        words = [treebank_words().tokenize(sentence) for sentence in given]
        counts["texts with other tokens"] += answer["words"] != words
        counts["texts split otherwise"] += answer["sentences"] != given
        counts["sentences"] += len(given)
        counts["sentences missing"] += len(set(given) - set(answer["sentences"]))
    return counts | {"data": corpus.provenance.content}


def compare_network(run: Run, texts: int, most: int | None, asked: Asked) -> dict[str, Any]:
    """The largest differences in float32, and the predictions with the shipped weights."""
    rows = of_test_half(run.corpus, most)
    chosen = np.random.default_rng(0).permutation(len(rows))[:texts]
    sample = rows.select(np.sort(chosen))
    exact = list(asked(bundle([run], exact=True), questions_of(run, sample, whole=True)))
    differences = [difference(run, row, answer) for row, answer in zip(sample, exact)]
    largest = {key: max(one[key] for one in differences) for key in differences[0]}
    shipped = asked(bundle([run]), questions_of(run, rows, whole=False))
    logits = np.array([answer["logits"] for answer in tqdm(shipped, total=len(rows))])
    expected = run.system.evaluate(rows, attention=False).predictions
    theirs, labels = expected.probabilities.argmax(1).numpy(), expected.labels.numpy()
    ours = logits.argmax(1)
    return {
        "texts in float32": len(sample),
        "largest difference in float32": largest,
        "texts as shipped": len(rows),
        "same predictions": float((ours == theirs).mean()),
        "accuracy": float((ours == labels).mean()),
        "accuracy in PyTorch": float((theirs == labels).mean()),
        "data": run.corpus.provenance.content,
        "weights": run.record[DIGEST],
    }


def compare_shipped(run: Run, texts: int, asked: Asked) -> dict[str, Any]:
    """The largest differences in probabilities and attention with the weights as shipped."""
    rows = of_test_half(run.corpus, texts)
    answers = asked(bundle([run]), questions_of(run, rows, whole=True))
    largest = [difference(run, row, answer) for row, answer in zip(rows, answers)]
    shares = ("probabilities", "attention")
    furthest_of = {key: max(one[key] for one in largest) for key in shares}
    return {"texts": len(rows), "largest difference as shipped": furthest_of}


def compare_typed(run: Run, asked: Asked) -> dict[str, Any]:
    """A pre-trained network over texts of several corpora, as it is shipped."""
    found, packed = {}, bundle([run])
    for name, most in TYPED.items():
        texts = list(map(clean, of_test_half(load_corpus(name), most)["text"]))
        questions = [{"model": run.record["id"], "text": text} for text in texts]
        read = list(map(run.system.read, texts))
        theirs = np.array([one.probabilities for one in read])
        found[name] = {"texts": len(texts)}
        answers = list(tqdm(asked(packed, questions), name, len(texts)))
        ours = np.array([answer["probabilities"] for answer in answers])
        found[name]["largest difference as shipped"] = furthest(ours, theirs)
        found[name]["other decisions"] = int((ours.argmax(1) != theirs.argmax(1)).sum())
        words = ([*one.tokens, *one.rest] for one in read)
        same = [answer["words"] == one for answer, one in zip(answers, words)]
        found[name]["texts with other words"] = len(same) - sum(same)
        found[name]["seconds a text"] = float(np.mean([answer["seconds"] for answer in answers]))
    return {"weights": run.record[DIGEST], "corpora": found}


def questions_of(run: Run, rows: datasets.Dataset, whole: bool) -> Iterator[dict[str, Any]]:
    """What to ask the engine about rows of a corpus, whose tokens are given."""
    for row in rows.select_columns(["tokens", "sentence_lengths"]):
        ends = np.cumsum(row["sentence_lengths"], dtype=int)
        tokens = [row["tokens"][a:b] for a, b in zip([0, *ends[:-1]], ends)]
        yield {"model": run.record["id"], "tokens": tokens, "whole": whole}


@torch.inference_mode()
def difference(run: Run, row: dict[str, Any], answer: dict[str, Any]) -> dict[str, float]:
    """How far the engine's logits, attention and importance of words are from PyTorch's."""
    system = run.system
    kept = system.cut(as_tokens(row))
    batch = encode_sentences([kept], system.vocabulary, flat=not system.reads_sentences)
    tokens, mask = batch.batch(np.arange(1))[:2]
    output = system.forward(tokens, mask)
    words = tuple(word for sentence in kept for word in sentence)
    views = system.views(output, words, tuple(map(len, kept)))
    word = system.word_attention(output, mask)["attention"][mask]
    return {
        "logits": furthest(answer["logits"], output.logits[0]),
        "probabilities": furthest(softmax(answer["logits"]), output.logits[0].softmax(0)),
        "attention": max(furthest(answer["attention"][n], v.weights) for n, v in views.items()),
        "importance of words": furthest(answer["word"], word),
    }


def furthest(ours: Sequence[Any], theirs: Any) -> float:
    """The largest difference of two arrays; further sentences, which no network reads, have 0."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return float(np.abs(ours[..., : theirs.shape[-1]] - theirs).max())


if __name__ == "__main__":
    main()
