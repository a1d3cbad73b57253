"""`make look`: the page from the committed networks, by the standard library alone."""

import ast
import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from course_kit.reading_room import MARK, look
from course_kit.reading_room.packed import BUNDLE, COMMITTED, TOLD, read_packed, write_packed
from course_kit.reading_room.page import build
from course_kit.reading_room.page.assembly import page
from course_kit.reading_room.page.examples import EXAMPLES, RECORDED, Example
from course_kit.reading_room.page.markup import Markup, element, escaped, filled
from course_lib import cli
from course_lib.files import REPOSITORY, DataError

ALONE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from course_kit.reading_room import look; "
)


def alone(code, *arguments, **environment):
    """A process that has the standard library and this repository, and nothing else."""
    command = [sys.executable, "-I", "-S", "-c", ALONE + code, str(REPOSITORY), *arguments]
    clean = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(command, capture_output=True, text=True, env=clean)


def test_without_any_package_it_is_the_page_of_the_room_command(tmp_path, capsys):
    ours, theirs = tmp_path / "look.html", tmp_path / "room.html"
    done = alone("sys.exit(look.main())", "--to", str(ours), "--no-browser")
    assert (done.returncode, done.stderr) == (0, "") and str(ours) in done.stdout
    assert cli.main(["room", "--to", str(theirs)]) == 0
    capsys.readouterr()
    assert ours.read_bytes() == theirs.read_bytes()
    assert ours.stat().st_size < 13e6 and MARK in ours.read_text(encoding="utf-8")[:4000]


def test_it_imports_nothing_from_elsewhere(tmp_path):
    code = (
        "look.main(); "
        "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    )
    done = alone(code, "--to", str(tmp_path / "room.html"), "--no-browser")
    assert set(done.stdout.splitlines()[-1].split()) <= {"course_lib", "course_kit", "__main__"}


def test_an_older_python_is_told_so_in_one_line():
    """Its own grammar and library are pretended: what it reads must suit it."""
    code = "sys.version_info = (3, 9, 18, 'final', 0); sys.exit(look.main())"
    done = alone(code)
    assert done.returncode == 2 and done.stdout == ""
    expected = f"error: Python 3.11 or newer is needed, {sys.executable} is 3.9\n"
    assert done.stderr == expected
    for name in ("look.py", "__init__.py", "../__init__.py"):
        text = (REPOSITORY / "course_kit" / "reading_room" / name).read_text(encoding="utf-8")
        ast.parse(text, feature_version=(3, 8))


def test_what_is_not_ours_stays_and_a_page_of_ours_is_renewed(tmp_path, capsys):
    path = tmp_path / "room.html"
    path.write_text("mine")
    assert look.main(["--to", str(path), "--no-browser"]) == 2
    assert path.read_text() == "mine" and "exists already" in capsys.readouterr().err
    path.write_text(f"{MARK} of last year")
    assert look.main(["--to", str(path), "--no-browser"]) == 0
    assert path.stat().st_size > 1e6 and list(tmp_path.iterdir()) == [path]


@pytest.mark.full
@pytest.mark.parametrize(
    ("environment", "platform", "opened"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_a_browser_is_asked_for_where_there_is_a_screen(
    tmp_path, monkeypatch, environment, platform, opened
):
    asked = []
    for name in look.SCREENS:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(look.sys, "platform", platform)
    monkeypatch.setattr(look, "open_in_browser", asked.append)
    path = tmp_path / "room.html"
    assert look.main(["--to", str(path)]) == 0
    assert asked == [path] * opened
    assert look.main(["--to", str(path), "--no-browser"]) == 0
    assert len(asked) == opened


def test_nobody_waits_for_a_browser_that_hangs_or_fails(tmp_path, monkeypatch):
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(1000)\n")
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    started = look.open_in_browser(tmp_path / "a page.html")
    assert started.poll() is None
    os.killpg(started.pid, signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    browser.unlink()
    assert look.open_in_browser(tmp_path / "a page.html").wait() in (0, 1)


@pytest.mark.full
def test_the_committed_networks_are_those_of_today():
    """Packed anew: the bundle's numbers but for float32's rounding of the vectors' common part."""
    committed, today = read_packed(), build.packed(build.recorded())
    assert [one["id"] for one in committed.networks] == list(RECORDED)
    near(*(json.loads(json.dumps(vars(replace(each, bundle="")))) for each in (committed, today)))
    ours, theirs = (gzip.decompress(each.bundle) for each in (committed, today))
    (length,) = struct.unpack_from("<I", ours)
    start = 4 + length
    assert ours[:start] == theirs[:start]
    rounded = np.zeros(len(ours) - start, bool)
    for model in json.loads(ours[4:start])["models"]:
        for part in (model["common"] or {}).values():
            place = slice(part["at"], part["at"] + 4 * int(np.prod(part["shape"])))
            rounded[place] = True
            mine, new = (np.frombuffer(all[start:][place], np.float32) for all in (ours, theirs))
            np.testing.assert_allclose(mine, new, rtol=0, atol=1e-5)
    parts = (np.frombuffer(each, np.uint8, offset=start)[~rounded] for each in (ours, theirs))
    assert np.array_equal(*parts)


def near(one, other, where="told"):
    """Equal, numbers to within what another processor may round otherwise."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for name in one:
            near(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, pair in enumerate(zip(one, other)):
            near(*pair, f"{where}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-4), where
    else:
        assert one == other, where


def test_damaged_or_missing_networks_are_named(tmp_path):
    with pytest.raises(DataError, match=f"{tmp_path}: missing or damaged .* git checkout"):
        read_packed(tmp_path)
    for name, other in ((BUNDLE, TOLD), (TOLD, BUNDLE)):
        shutil.copy(COMMITTED / other, tmp_path / other)
        (tmp_path / name).write_bytes((COMMITTED / name).read_bytes()[:-1000])
        with pytest.raises(DataError, match="missing or damaged"):
            read_packed(tmp_path)


def test_readings_of_other_networks_are_refused(tmp_path):
    packed = read_packed()
    write_packed(replace(packed, bundle=b"other networks"), tmp_path)
    shutil.copy(COMMITTED / TOLD, tmp_path / TOLD)
    with pytest.raises(DataError, match=f"{BUNDLE} is not the one that {TOLD} belongs to"):
        read_packed(tmp_path)


def test_networks_are_the_same_when_they_are_read_again(tmp_path):
    packed = read_packed()
    write_packed(packed, tmp_path)
    assert read_packed(tmp_path) == packed
    first = [(tmp_path / name).read_bytes() for name in (BUNDLE, TOLD)]
    write_packed(packed, tmp_path)
    assert [(tmp_path / name).read_bytes() for name in (BUNDLE, TOLD)] == first


HOSTILE = "</blockquote></script><script>alert('1')</script>&amp; \"$title\" {{ x }}"


def test_nothing_of_a_text_or_a_record_becomes_markup():
    packed = read_packed()
    name = packed.networks[0]["id"]
    read = packed.readings[EXAMPLES[0].text][name]
    read = {**read, "tokens": [[HOSTILE] * len(read["word"])]}
    network = {**packed.networks[0], "dataset": HOSTILE, "classes": [HOSTILE, "other"]}
    hostile = replace(packed, networks=[network], readings={HOSTILE: {name: read}})
    example = Example("name", HOSTILE, HOSTILE, HOSTILE, (name,))
    text = page(hostile, [example])
    assert text.count("<script") == 4 and "<script>alert" not in text
    shown = "&lt;/blockquote&gt;&lt;/script&gt;&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;"
    assert text.count(f"{shown}&amp;amp; &quot;$title&quot; {{{{ x }}}}") == 7 + len(read["word"])


def test_only_markup_of_ours_is_left_as_it_is():
    assert element("p", "<b>", element("i", "&"), class_='"', aria_label="a") == (
        '<p class="&quot;" aria-label="a">&lt;b&gt;<i>&amp;</i></p>'
    )
    assert escaped(Markup("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;", "put together elsewhere"
    assert filled("$one $two", one="$two <", two=Markup("<b>")) == "$two &lt; <b>"
    with pytest.raises(KeyError):
        filled("$one $two", one="")


def test_make_look_needs_no_environment(tmp_path):
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    path = tmp_path / "room.html"
    command = ["make", "--no-print-directory", "look", f"ARGS=--no-browser --to {path}"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{path} ({path.stat().st_size / 1e6:.1f} MB)\n"
