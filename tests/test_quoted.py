"""What lessons quote and display: committed figures, markdown."""

import pytest

from course_kit import exercises
from course_kit.exercises import records


def test_a_committed_record_is_read_from_the_repository(monkeypatch, tmp_path):
    assert len(exercises.committed_record("results/museum/specimens.json")["specimens"]) == 10
    monkeypatch.setattr(records, "REPOSITORY", tmp_path)
    (tmp_path / "a.json").write_text('{"ours": "größer"}', encoding="utf-8")
    assert exercises.committed_record("a.json") == {"ours": "größer"}
    with pytest.raises(FileNotFoundError, match=r"b\.json"):
        exercises.committed_record("b.json")
