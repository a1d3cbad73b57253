"""Files that appear whole or not at all, and what a failure names."""

import errno
import os
from contextlib import nullcontext

import pytest
import torch
from safetensors.torch import save_file
from strategies import files_below

from course_lib.files import DataError, atomic_path

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
