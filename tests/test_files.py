"""Files that appear whole or not at all, and what a failure names."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from strategies import files_below

from course_lib.files import (
    WORKROOM,
    DataError,
    atomic_path,
    check_free,
    clear_leftovers,
    write_text,
)

CODES = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC)


def trouble(code, *paths):
    """An error of the operating system about no file, one file, or two (as in copying)."""
    names = [str(path) for path in paths]
    return OSError(code, os.strerror(code), *names[:1], *([None, names[1]] if names[1:] else []))


@pytest.mark.parametrize("save", [torch.save, save_file], ids=["torch.save", "safetensors"])
def test_a_full_disk_is_told_from_other_troubles_of_those_who_write_weights(
    tmp_path, full_disk, save
):
    target = tmp_path / "weights"
    told = pytest.raises(DataError, match=r"cannot write .*weights .*Free some space")
    with full_disk(50_000), told, atomic_path(target) as temporary:
        save({"w": torch.zeros(100_000)}, str(temporary))
    with pytest.raises(RuntimeError, match="no such"), atomic_path(target):
        raise RuntimeError("no such layer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stop", [None, RuntimeError, KeyboardInterrupt])
def test_a_file_is_replaced_at_the_end_of_a_block_that_ends_well(tmp_path, stop):
    target = tmp_path / "target"
    target.write_text("old")
    with pytest.raises(stop) if stop else nullcontext(), atomic_path(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        if stop:
            raise stop
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text() == ("old" if stop else "new")


@pytest.mark.parametrize("file", [False, True])
def test_a_folder_that_another_process_finished_meanwhile_stays(tmp_path, file):
    target = tmp_path / "target"
    expected = pytest.raises(DataError, match="Not a directory") if file else nullcontext()
    with expected, atomic_path(target) as temporary:
        temporary.mkdir()
        (temporary / "mine").touch()
        if not file:
            target.mkdir()
        (target if file else target / "theirs").touch()
    assert files_below(tmp_path) == (["target"] if file else ["target/theirs"])


@pytest.mark.parametrize("made", ["file", "folder"])
def test_a_folder_of_the_user_is_neither_replaced_nor_taken_for_what_was_written(tmp_path, made):
    target = tmp_path / "target"
    target.mkdir()
    (target / "theirs").touch()
    with pytest.raises(DataError, match="a folder stands there"), atomic_path(target) as temporary:
        temporary.touch() if made == "file" else temporary.mkdir()
    assert files_below(tmp_path) == ["target/theirs"]


@pytest.mark.parametrize("there", [True, False], ids=["there", "not yet there"])
def test_what_a_link_points_to_is_written_and_the_link_stays(tmp_path, there):
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    assert files_below(tmp_path) == ["elsewhere/target", "link"]


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(DataError, match="leads to itself"):
        write_text(link, "new")


def test_text_that_the_disk_gives_back_otherwise_gets_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"other")
    with pytest.raises(DataError, match="gives back something else"):
        write_text(tmp_path / "target", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_free_to_be_written_if_it_is_ours_or_none(tmp_path):
    ours, theirs, folder = tmp_path / "ours", tmp_path / "theirs", tmp_path / "folder"
    ours.write_text("made by us")
    theirs.write_text("made by them")
    folder.mkdir()
    check_free(ours, "by us")
    check_free(tmp_path / "none")
    for path, mark in ((theirs, "by us"), (ours, ""), (folder, "by us")):
        with pytest.raises(DataError, match=f"{path.name} exists already"):
            check_free(path, mark)


def test_only_temporary_folders_of_ours_are_leftovers(tmp_path):
    for name in (".python3.11", ".config.d", f"{WORKROOM}12345678"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    clear_leftovers(tmp_path)
    assert files_below(tmp_path) == [".config.d/file", ".python3.11/file"]


def test_a_trouble_with_another_file_is_none_of_the_target(tmp_path):
    for code in (errno.ENOTDIR, errno.EACCES):
        other = trouble(code, tmp_path / "read" / "this")
        with pytest.raises(OSError, match=os.strerror(code)) as caught, atomic_path(tmp_path / "a"):
            raise other
        assert caught.value is other


@pytest.mark.parametrize("code", CODES)
def test_a_disk_that_is_full_or_closed_names_the_target_and_all_else_passes_unchanged(
    tmp_path, code
):
    target = tmp_path / "target"
    for names in ((), (target,), (tmp_path / "original", target)):
        told = pytest.raises(DataError, match=f"cannot write {target} .*{os.strerror(code)}")
        with told, atomic_path(target):
            raise trouble(code, *names)
    for other in (trouble(errno.ENOENT, target), DataError("cannot write x (os error 28)")):
        with pytest.raises(type(other)) as caught, atomic_path(target):
            raise other
        assert caught.value is other
    assert list(tmp_path.iterdir()) == []


def test_a_target_below_a_file_or_whose_folders_cannot_be_made_is_named(tmp_path, monkeypatch):
    def refuse(path, mode=0o777):
        raise trouble(errno.EACCES, path) if path == tmp_path / "a" else trouble(errno.ENOENT, path)

    (tmp_path / "file").touch()
    for folder in ("file", "file/a/b"):
        target = tmp_path / folder / "target"
        with pytest.raises(DataError, match=f"cannot write {target}"), atomic_path(target):
            pytest.fail("nothing can be written there")
    monkeypatch.setattr(os, "mkdir", refuse)
    target = tmp_path / "a" / "b" / "target"
    with pytest.raises(DataError, match=f"cannot write {target} .*Perm"), atomic_path(target):
        pytest.fail("nothing can be written there")
