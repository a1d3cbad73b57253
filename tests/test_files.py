"""Files that appear whole or not at all: when they reach the disk, and what a failure names."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from strategies import files_below

from course_lib.files import REPOSITORY, DataError, atomic_path, data_root

CODES = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC)
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="needs /proc to tell what a descriptor stands for"
)


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


def test_missing_folders_are_made_and_whole_folders_renamed(tmp_path):
    with atomic_path(tmp_path / "a" / "b" / "target") as temporary:
        temporary.mkdir()
        (temporary / "file").write_text("x")
    assert files_below(tmp_path) == ["a/b/target/file"]
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["target"]


@pytest.mark.parametrize("moment", ["before", "after the look", "after the look, a file"])
def test_a_folder_that_another_process_finished_meanwhile_stays(tmp_path, moment, monkeypatch):
    target = tmp_path / "target"

    def appear(*_):
        if not moment.endswith("a file"):
            target.mkdir()
        (target if moment.endswith("a file") else target / "theirs").touch()

    if moment != "before":  # while ours goes to the disk
        monkeypatch.setattr("course_lib.files._to_disk", appear)
    file = moment.endswith("a file")
    expected = pytest.raises(DataError, match="Not a directory") if file else nullcontext()
    with expected, atomic_path(target) as temporary:
        temporary.mkdir()
        (temporary / "mine").touch()
        if moment == "before":
            appear()
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
    other = trouble(errno.ENOENT, target)
    with pytest.raises(OSError) as caught, atomic_path(target):
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


def test_a_data_error_from_inside_is_not_wrapped_in_another(tmp_path):
    inner = DataError("cannot write other (os error 28)")
    with pytest.raises(DataError) as caught, atomic_path(tmp_path / "target"):
        raise inner
    assert caught.value is inner


def test_the_data_folder_is_that_of_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))
    assert data_root() == tmp_path / "data"
    monkeypatch.setenv("COURSE_DATA_DIR", "")
    assert data_root() == REPOSITORY / "data"


@needs_proc
def test_all_is_on_the_disk_before_it_gets_its_name_and_the_name_after(tmp_path, monkeypatch):
    order, sync = [], os.fsync

    def watch(descriptor):
        sync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        below = path.relative_to(tmp_path).parts
        order.append(("/".join(below[1:]) or "folder", (tmp_path / "target").exists()))

    monkeypatch.setattr(os, "fsync", watch)
    with atomic_path(tmp_path / "target") as temporary:
        (temporary / "inner").mkdir(parents=True)
        (temporary / "inner" / "file").write_text("x")
        (temporary / "link").symlink_to("nowhere")
    names = ("target/inner/file", "target/inner", "target")
    assert order == [*((name, False) for name in names), ("folder", True)]


@needs_proc
@pytest.mark.parametrize(
    ("code", "of_folders", "writes_folder", "raised"),
    [
        (errno.ENOSPC, False, False, DataError),  # what cannot be synced never gets its name
        (errno.EIO, False, False, OSError),
        (errno.EIO, True, True, OSError),
        (errno.EINVAL, True, True, None),  # file systems that cannot sync folders
        (errno.EIO, True, False, None),  # a file has its name, whatever its folder says
    ],
)
def test_what_cannot_be_synced(tmp_path, monkeypatch, code, of_folders, writes_folder, raised):
    sync, target = os.fsync, tmp_path / "target"

    def refuse(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").is_dir() == of_folders:
            raise trouble(code)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    expected = pytest.raises(raised, match="target") if raised else nullcontext()
    with expected, atomic_path(target) as temporary:
        if writes_folder:
            temporary.mkdir()
        (temporary / "file" if writes_folder else temporary).write_text("new")
    written = ["target/file" if writes_folder else "target"]
    assert files_below(tmp_path) == ([] if raised else written)
