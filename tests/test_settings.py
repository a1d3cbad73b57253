"""Settings and specs: what they may hold, how a run is named, what is refused before a start."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.runs import folders, run
from course_lib.runs.settings import SpecError, flat_settings
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems

WEIGHTS = "control.attention_weights"
EVERY_PRESET = [
    (name, preset) for name, system in known_systems().items() for preset in system.presets
]


@pytest.mark.parametrize(
    ("says", "change"),
    [
        (f"no system 'nope'; there are: {', '.join(sorted(known_systems()))}", {"system": "nope"}),
        ("no preset 'nope'; there are: compact, long, report, small", {"preset": "nope"}),
        ("no dataset 'nope'; there are: ag_news, amazon_full", {"dataset": "nope"}),
        ("no dataset 'glove.6B.50d'", {"dataset": "glove.6B.50d"}),
        ("no setting 'hidden'; do you mean model.hidden?", {"overrides": {"hidden": 8}}),
        ("no setting 'model.hiden'; do you mean model.hidden?", {"overrides": {"model.hiden": 8}}),
        ("no setting 'zz'; there are: text.max_tokens", {"overrides": {"zz": 8}}),
        ("model.hidden takes a whole number from 1, got 8.0", {"overrides": {"model.hidden": 8.0}}),
        (
            "text.max_tokens is 5, but this system reads sentences",
            {"overrides": {"text.max_tokens": 5}},
        ),
        (
            "text.max_words is 5, but this system reads one sequence",
            {"system": "agt", "preset": "paper", "overrides": {"text.max_words": 5}},
        ),
        (
            "training.optimizer is 'adam', but model.sparse",
            {"system": "sanet", "preset": "base", "overrides": {"training.optimizer": "adam"}},
        ),
        (
            "training.clip_norm is 1.0, but model.sparse",
            {"system": "sanet", "preset": "base", "overrides": {"training.clip_norm": 1}},
        ),
        ("training.momentum is SGD's alone", {"overrides": {"training.momentum": 0.9}}),
        (
            "text.max_tokens has no meaning here: whole texts' words are counted",
            {"system": "tfidf", "preset": "words", "overrides": {"text.max_tokens": 9}},
        ),
        (
            "text.vectors has no meaning here",
            {"system": "tfidf", "preset": "words", "overrides": {"text.vectors": "glove.6B.50d"}},
        ),
        *(
            (
                "control.attention_weights is 'uniform', but this network has no attention",
                {"system": name, "preset": preset, "overrides": {WEIGHTS: "uniform"}},
            )
            for name, preset in (("sanet", "baseline-base"), ("agt", "mean"), ("iram", "baseline"))
        ),
        (
            "control.attention_weights has no meaning here",
            {"system": "tfidf", "preset": "words", "overrides": {WEIGHTS: "untrained"}},
        ),
        ("control.attention_weights takes one of 'learned', ", {"overrides": {WEIGHTS: "frozen"}}),
        *(
            (
                f"text.max_tokens takes 1 to 510 pieces, got {n}",
                {"system": "minilm", "preset": "whole", "overrides": {"text.max_tokens": n}},
            )
            for n in (0, 511)
        ),
        (
            "text.vectors must be 'none': the network brings vectors of its own",
            {"system": "minilm", "preset": "whole", "overrides": {"text.vectors": "glove.6B.50d"}},
        ),
        (
            "model.minimum_documents takes at most the 540 training rows, got 9999",
            {
                "system": "tfidf",
                "preset": "words",
                "dataset": "toy",
                "overrides": {"model.minimum_documents": 9999},
            },
        ),
        (
            "text.validation_share holds out 0 of 600 training rows",
            {"dataset": "toy", "overrides": {"text.validation_share": 0.0001}},
        ),
        *(
            (f"limit takes 20 to 600 training rows, got {n}", {"dataset": "toy", "limit": n})
            for n in (19, 601)
        ),
        ("seed takes a whole number from 0 to 2³² − 1, got -1", {"seed": -1}),
        ("got 4294967296", {"seed": 2**32}),
        ("got 30.5", {"limit": 30.5}),
        ("threads takes a whole number from 1, got 0", {"threads": 0}),
        ("overrides takes values by address, got []", {"overrides": []}),
        ("device takes a name, got 3", {"device": 3}),
        ("test takes True or False, got 'no'", {"test": "no"}),
    ],
)
def test_what_cannot_run_is_refused_by_name_before_anything_starts(
    monkeypatch, tmp_path, says, change
):
    monkeypatch.setattr(run, "load_corpus", None)
    monkeypatch.setattr(folders, "RUNS", tmp_path)
    spec = RunSpec(**change)
    for act in (RunSpec.resolve, run.train, run.train_or_load):
        with pytest.raises(SpecError, match=re.escape(says)):
            act(spec)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("system", "preset"), EVERY_PRESET)
def test_every_preset_can_run(system, preset):
    plan = RunSpec(system, "toy", preset).resolve()
    assert plan.id == f"{system}-toy-{preset}-s0" and plan.resolve() is plan


def test_what_says_the_same_is_the_same_run():
    """A whole number for a decimal, what the preset says already, another order."""
    first, second = {"model.penalty": 1, "model.hidden": 60}, {"model.hidden": 60}
    both = (first, second | {"model.penalty": 1.0})
    one, same = (RunSpec(overrides=each).resolve() for each in both)
    assert one.id == same.id and one.settings == same.settings
    assert type(one.settings.model.penalty) is float
    plain = RunSpec(overrides={"model.penalty": 0, "training.epochs": 4}).resolve()
    assert (plain.id, plain.settings) == (RunSpec().resolve().id, RunSpec().resolve().settings)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (
            RunSpec("iram", "sst2", "vanilla", {"model.penalty": 0.1}),
            "iram-sst2-vanilla-penalty0.1-s0",
        ),
        (
            RunSpec(
                "iram",
                "sst2",
                "vanilla",
                {"training.epochs": 3, "model.penalty": 0},
                seed=2,
                test=False,
            ),
            "iram-sst2-vanilla-penalty0-epochs3-notest-s2",
        ),
        (
            RunSpec(
                "sanet",
                "imdb",
                "base",
                {"model.scaled": True, "model.positions": False},
                limit=2500,
            ),
            "sanet-imdb-base-2500rows-no-positions-scaled-s0",
        ),
        (
            RunSpec(
                "agt",
                "sst5",
                "paper",
                {"training.optimizer": "adadelta", "training.learning_rate": 5e-5},
            ),
            "agt-sst5-paper-learning_rate5e-05-optimizer-adadelta-s0",
        ),
        (
            RunSpec(overrides={"text.vocabulary_from": "train+validation"}),
            "han-imdb-report-vocabulary_from-train+validation-s0",
        ),
        (
            RunSpec(overrides={"training.learning_rate": 0.1234567891}),
            "han-imdb-report-learning_rate0.1234567891-s0",
        ),
        (
            RunSpec("agt", "sst5", "mean", {"text.vectors": "film", "model.frozen": True}),
            "agt-sst5-mean-film-frozen-s0",
        ),
    ],
)
def test_a_run_is_named_in_words(spec, name):
    assert spec.resolve().id == name and Path(name).name == name


@pytest.mark.parametrize("system", known_systems().values(), ids=known_systems())
def test_parts_of_settings_are_of_one_kind_and_no_setting_stands_in_two(system):
    """Names of runs leave the part out, so it must follow from the setting's own name."""
    kinds = {tuple(map(type, vars(settings).values())) for settings in system.presets.values()}
    assert len(kinds) == 1
    names = [name.partition(".")[2] for name in flat_settings(next(iter(system.presets.values())))]
    assert len(set(names)) == len(names)


def test_many_overrides_end_in_a_digest_of_all():
    """A name stays short, keeps its first words and its seed, and differs with every value."""
    numbers = {f"training.{name}": 123_456_789 for name in ("epochs", "patience", "batch_size")}
    numbers |= {"training.most_tokens": 123_456_789, "text.vocabulary_limit": 123_456_789}
    specs = [RunSpec(overrides=numbers | {"model.attention": size}, seed=7) for size in (6, 8)]
    one, two = (spec.resolve().id for spec in specs)
    assert len(one) <= 60 and len(two) <= 60
    assert re.fullmatch(r"han-imdb-report-vocabulary_limit123456789-[0-9a-f]{6}-s7", one)
    assert one != two and one == replace(specs[0], device="cpu").resolve().id
    assert one != replace(specs[0], test=False).resolve().id


def test_an_identity_is_that_of_all_that_the_result_depends_on():
    def identity(**changes):
        return replace(RunSpec("agt", "sst5", "mean"), **changes).resolve().identity

    assert (
        identity() == identity(device="cpu", threads=9) == identity(overrides={"model.layers": 1})
    )
    changes = (
        {"seed": 1},
        {"test": False},
        {"limit": 50},
        {"dataset": "sst2"},
        {"preset": "paper"},
        {"overrides": {"model.hidden": 60}},
    )
    assert len({identity(), *(identity(**each) for each in changes)}) == 7
