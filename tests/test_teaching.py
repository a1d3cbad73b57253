"""The teacher's pages: a page a lesson in one form, and syllabi that fit into their minutes."""

import re

import pytest
import yaml

from course_kit.publishing import contents, lessons
from course_kit.publishing.students import find_exercises, read_notebook

FOLDER = contents.SYLLABI.parent
PLANS = yaml.safe_load(contents.SYLLABI.read_text(encoding="utf-8"))
ABOUT = yaml.safe_load(contents.ABOUT.read_text(encoding="utf-8"))
PARTS = ["Objectives", "Misconceptions to expect", "Where classes stop", "To discuss", "Quiz"]
PATHS = {path.stem[:2]: path for path in lessons.lesson_paths()}


@pytest.mark.parametrize("number", PATHS)
def test_a_page_says_what_a_lesson_shows_asks_and_answers(number):
    text = (FOLDER / f"{number}.md").read_text(encoding="utf-8")
    assert f"](../{PATHS[number].name})" in text
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    parts = dict(zip(PARTS, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))
    exercises = find_exercises(read_notebook(PATHS[number]), number)
    shown = re.findall(r"\| Exercise (\d+) \|$", parts["Objectives"], re.MULTILINE)
    assert shown == [str(each) for each in range(1, len(exercises) + 1)]
    named = set(re.findall(r"Exercises? (\d+)", text))
    assert named <= set(shown), "an exercise that the lesson does not have"
    assert parts["Misconceptions to expect"].count('\n- **"') >= 5
    assert len(re.findall(r"^\d\. \*\*", parts["To discuss"], re.MULTILINE)) == 3
    questions, _, key = parts["Quiz"].partition("<details><summary>Key</summary>")
    assert len(re.findall(r"^\d\. ", questions, re.MULTILINE)) == 5
    assert all(questions.count(f"{letter}) ") >= 5 for letter in "abc")
    assert re.findall(r"^(\d)\. \*\*[abc]\.\*\* \S+", key, re.MULTILINE) == list("12345")


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan["name"])
def test_a_syllabus_fits_into_its_minutes_and_nobody_meets_a_lesson_too_early(plan):
    seen = []
    for session in plan["sessions"]:
        path = PATHS[session["lesson"]]
        minutes, later = contents.in_class(path, session["home"])
        assert minutes + session["talk"] <= session["minutes"] and session["talk"] >= 15
        assert later <= 45
        assert {need[:2] for need in ABOUT[path.stem].get("needs", [])} <= {*seen}
        seen.append(session["lesson"])
    sessions = {"Two hours": 1, "One day": 3, "Six weeks": 6, "Twelve weeks": 12}
    assert len(seen) == sessions[plan["name"]]
