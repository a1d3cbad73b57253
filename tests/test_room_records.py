"""What was measured of the reading room's engine, and the limits it must keep."""

import json

import pytest
from recorded import record_file

from course_kit.reading_room.pack import PRETRAINED, ROOM
from course_kit.reading_room.page.examples import TRANSFORMER
from course_lib.runs.folders import RESULTS
from course_lib.runs.weights import DIGEST

FOLDER = RESULTS / "reading_room"


def figures(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["figures"]


@pytest.mark.parametrize("name", ROOM)
@pytest.mark.parametrize(
    ("where", "texts"), [("", 500), ("-chromium", 500), ("-firefox", 100)], ids=str
)
def test_the_networks_are_pytorchs_and_stay_so_when_shipped(name, where, texts):
    if (name, where) == (TRANSFORMER, "-firefox"):
        pytest.skip("there was no Firefox to measure it in")
    found = figures(name + where)
    record = json.loads(record_file(name).read_text(encoding="utf-8"))
    assert found["texts in float32"] == texts
    assert max(found["largest difference in float32"].values()) <= 1e-4
    assert found["same predictions"] >= 0.995
    assert found["weights"] == record[DIGEST], "measured with other weights"
    if not where:
        assert abs(found["accuracy"] - found["accuracy in PyTorch"]) <= 0.003
        assert found["data"] == record["data"]["content"]


@pytest.mark.parametrize(
    "name", [name for name in ROOM if name.startswith(("iram", "agt", "transformer"))]
)
def test_packing_moves_no_probability_and_no_attention_far(name):
    """The networks with matrices large enough to be packed in fewer bits than the committed 16."""
    found = figures("packing")[name]
    assert found["texts"] >= 100 and max(found["largest difference as shipped"].values()) <= 1e-3


@pytest.mark.parametrize(("measured", "texts"), [("tokens", 50_000), ("tokens-firefox", 1_000)])
def test_no_text_has_other_tokens(measured, texts):
    corpora = figures(measured).values()
    assert sum(each["texts"] for each in corpora) >= texts
    assert [each["texts with other tokens"] for each in corpora] == [0] * len(corpora)
    missing = sum(each["sentences missing"] for each in corpora)
    if measured == "tokens":
        assert missing <= 0.005 * sum(each["sentences"] for each in corpora)
    else:
        assert missing == 0


def test_minilm_answers_as_in_pytorch_as_it_is_shipped():
    found = figures("pretrained")
    corpora = found["corpora"].values()
    assert max(each["largest difference as shipped"] for each in corpora) <= 0.01
    texts = sum(each["texts"] for each in corpora)
    assert texts >= 1000 >= 100 * sum(each["other decisions"] for each in corpora)
    assert [each["texts with other words"] for each in corpora] == [0] * len(corpora)
    record = json.loads(record_file(PRETRAINED).read_text(encoding="utf-8"))
    assert found["weights"] == record[DIGEST], "measured with other weights"
