"""A progress bar in a notebook's cell, and elsewhere."""

import contextlib
import subprocess
import sys
from types import SimpleNamespace

import IPython
from tqdm.std import tqdm

from course_lib.front_end import one_bar, progress


def test_a_bar_in_a_cell_that_is_watched_is_a_line_of_text_that_goes(monkeypatch, capsys):
    shown = []
    handle = SimpleNamespace(update=lambda bundle, raw: shown.append(bundle))
    monkeypatch.setattr(
        IPython.display,
        "display",
        lambda bundle, raw, display_id: shown.append(bundle) or handle,
    )
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel="python3"))
    monkeypatch.setenv("COURSE_HEATMAP", "live")
    for leave in (False, True):
        assert list(progress("ab", "read", leave=leave, mininterval=0)) == ["a", "b"]
        assert shown[0]["text/plain"].startswith("read:   0%|")
        assert shown[-1] == {} or (leave and shown[-1]["text/plain"].startswith("read: 100%|"))
        shown.clear()
    assert capsys.readouterr() == ("", "")
    list(progress("ab", disable=True))
    assert shown == []


def test_a_terminal_has_its_bar_although_the_kernels_module_was_imported():
    code = """
import ipykernel.ipkernel
from course_lib.front_end import progress
for each in progress("ab", "read"):
    pass
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "" and "read: 100%" in done.stderr
    assert type(progress("ab", disable=True)) is tqdm


def test_below_one_bar_no_other_is_shown_and_afterwards_they_are(capsys):
    with contextlib.suppress(KeyError), one_bar(total=2, desc="outer", mininterval=0) as bar:
        bar.update(1)
        assert list(progress("ab", "inner", mininterval=0)) == ["a", "b"]
        raise KeyError
    said = capsys.readouterr().err
    assert "outer" in said and "inner" not in said
    list(progress("ab", "later", mininterval=0))
    assert "later" in capsys.readouterr().err
