"""Pictures moved by hand: the browser computes what Python draws, and a page has a still."""

import base64
import json
import re

import numpy as np
import pytest

from course_lib.explore import explore_gates, explore_query, touched

WORDS, CANDIDATES = ["the", "thin", "end"], [0.0, 1.0, -0.5]
KEYS = [[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]]
VIEWS = {
    "gates": lambda: explore_gates(WORDS, CANDIDATES, (0.1, 0.9)),
    "query": lambda: explore_query(["fine", "dull", "film"], KEYS, (0.5, 1.0)),
}


@pytest.fixture
def asked(node, tmp_path):
    """``asked(part, name, *arguments)``: what a function of a view's module returns."""

    def ask(part, name, *arguments):
        path = tmp_path / f"{part}.mjs"
        source = touched.Path(touched.__file__).with_name(f"{part}.js")
        path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        script = (
            f"import({json.dumps(path.as_uri())}).then((m) => "
            f"console.log(JSON.stringify(m.{name}(...{json.dumps(arguments)}))))"
        )
        return json.loads(node("--input-type=module", "--eval", script).stdout)

    return ask


@pytest.mark.parametrize("gates", [[0.5, 0.5, 0.5], [0.2, 1.0, 0.0], [1.0, 0.3, 0.9]])
def test_the_browsers_states_are_those_that_python_draws(asked, gates):
    found = asked("gates", "states", CANDIDATES, gates)
    np.testing.assert_allclose(found, touched.states_of(CANDIDATES, gates))
    without = touched.states_of([0.0, 0.0, CANDIDATES[2]], gates)[-1]
    assert asked("gates", "left", gates, 1) == pytest.approx(found[-1] - without)


@pytest.mark.parametrize("query", [(1.0, 0.0), (-1.5, -2.0), (0.0, 0.0)])
def test_the_browsers_attention_is_that_which_python_draws(asked, query):
    found = asked("query", "attend", KEYS, query, 1, [False] * 3)
    weights, mean = touched.attended(np.array(KEYS), np.array(query))
    np.testing.assert_allclose(found["weights"], weights)
    np.testing.assert_allclose(found["mean"], mean, atol=1e-12)
    np.testing.assert_allclose(found["exps"], np.exp(np.array(KEYS) @ query))
    entropy = -(weights * np.log(weights)).sum()
    assert asked("query", "effective", found["weights"]) == pytest.approx(np.exp(entropy))


def test_a_divisor_shortens_the_query_and_masked_words_get_nothing(asked):
    longer = asked("query", "attend", KEYS, (2.0, 1.0), 2, [False] * 3)
    shorter, _ = touched.attended(np.array(KEYS), np.array([1.0, 0.5]))
    np.testing.assert_allclose(longer["weights"], shorter)
    masked = asked("query", "attend", KEYS, (2.0, 1.0), 1, [False, False, True])
    alone, mean = touched.attended(np.array(KEYS[:2]), np.array([2.0, 1.0]))
    np.testing.assert_allclose(masked["weights"], [*alone, 0])
    np.testing.assert_allclose(masked["mean"], mean)
    nothing = asked("query", "attend", KEYS, (2.0, 1.0), 1, [True] * 3)
    assert nothing["weights"] == [0, 0, 0] and nothing["mean"] == [0, 0]


@pytest.mark.full
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("form", ["static", "png"])
def test_without_a_kernel_a_figure_stands_for_it(view, form, monkeypatch):
    monkeypatch.setenv("COURSE_HEATMAP", form)
    bundle, metadata = view()._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == metadata["image/png"]["alt"]
    assert ("text/html" in bundle) == (form == "static")
    assert "you can move" in bundle.get("text/html", "you can move")
    assert len(re.findall("<img ", view()._page())) == 1  # kept where a notebook is opened anew


def test_a_query_of_length_0_can_be_drawn():
    with np.errstate(all="raise"):
        assert explore_query(["fine", "dull", "film"], KEYS, (0.0, 0.0)).touched.query == [0, 0]


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ValueError, match="3 words have 2 candidates"):
        explore_gates(WORDS, [0.0, 1.0], (0.5,))
    with pytest.raises(ValueError, match=r"between −1 and 1, got \[0.0, 2.0, 0.0\]"):
        explore_gates(WORDS, [0.0, 2.0, 0.0], (0.5,))
    with pytest.raises(ValueError, match=r"keys has the shape \(3, 2\); 2 words need"):
        explore_query(["fine", "dull"], KEYS, (1.0, 0.0))
