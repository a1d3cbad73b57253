"""What was measured of the reading room's engine, and the limits it must keep."""

import json

import pytest
from recorded import record_file

from course_kit.reading_room import ROOM
from course_lib.runs.records import RESULTS
from course_lib.runs.weights import DIGEST

FOLDER = RESULTS / "reading_room"


def figures(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["figures"]


def of_the_run(name):
    return json.loads(record_file(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ROOM)
@pytest.mark.parametrize(("browser", "texts"), [("chromium", 500), ("firefox", 100)])
def test_the_networks_are_pytorchs_in_browsers(name, browser, texts):
    found = figures(f"{name}-{browser}")
    assert found["texts in float32"] == texts
    assert max(found["largest difference in float32"].values()) <= 1e-4
    assert found["same predictions"] >= 0.995
    assert found["weights"] == of_the_run(name)[DIGEST], "measured with other weights"


def test_no_text_has_other_tokens_in_firefox():
    for each in figures("tokens-firefox").values():
        assert each["texts"] == 500
        assert (each["texts with other tokens"], each["sentences missing"]) == (0, 0)


def test_no_text_of_the_test_halves_has_other_tokens():
    corpora = figures("tokens").values()
    assert sum(each["texts"] for each in corpora) > 50_000
    assert [each["texts with other tokens"] for each in corpora] == [0] * len(corpora)
    missing = sum(each["sentences missing"] for each in corpora)
    assert missing <= 0.005 * sum(each["sentences"] for each in corpora)


@pytest.mark.parametrize("name", ROOM)
def test_the_networks_are_pytorchs_and_stay_so_when_shipped(name):
    found = figures(name)
    assert found["texts in float32"] == 500
    assert max(found["largest difference in float32"].values()) <= 1e-4
    assert found["same predictions"] >= 0.995
    assert abs(found["accuracy"] - found["accuracy in PyTorch"]) <= 0.003
    record = of_the_run(name)
    assert found["weights"] == record[DIGEST], "measured with other weights"
    assert found["data"] == record["data"]["content"]
