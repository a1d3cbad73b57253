"""What a release needs: one version everywhere, licences that are named, forms that can be read."""

import json
import re
import tomllib

import yaml

from course_kit.publishing.site import conf
from course_lib.files import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def test_the_version_is_one_and_the_changelog_begins_with_it():
    cited, deposited = yaml.safe_load(text("CITATION.cff")), json.loads(text(".zenodo.json"))
    newest = re.search(r"^## (\S+)$", text("CHANGELOG.md"), re.MULTILINE)[1]
    assert {cited["version"], deposited["version"], newest} == {PROJECT["version"]}
    assert cited["title"] == deposited["title"]
    assert [one["name"] for one in cited["authors"]] == [
        one["name"] for one in deposited["creators"]
    ]


def test_both_licences_are_named_where_a_reader_looks():
    assert "creativecommons.org/licenses/by/4.0/" in text("LICENSE-prose")
    assert "(LICENSE-prose)" in text("README.md") and "CC BY 4.0" in conf.copyright
    assert {"LICENSE", "LICENSE-prose"} == set(PROJECT["license-files"])


def test_every_issue_form_asks_for_something():
    forms = sorted((REPOSITORY / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
    names = [yaml.safe_load(form.read_text(encoding="utf-8")) for form in forms]
    assert len(names) == 3
    for form in names:
        assert form["name"] in text("SUPPORT.md") and form["description"] and form["body"]
        assert len({part["id"] for part in form["body"]}) == len(form["body"])
