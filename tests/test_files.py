"""Files that appear whole or not at all: when they reach the disk, and what a failure names."""

import errno
import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from strategies import files_below

from course_lib.files import REPOSITORY, DataError, atomic_path, check_space, data_root

ADVICE = "COURSE_DATA_DIR"


@pytest.mark.parametrize("save", [torch.save, save_file], ids=["torch.save", "safetensors"])
def test_a_full_disk_is_told_from_other_troubles_of_those_who_write_weights(
    tmp_path, full_disk, save
):
    target = tmp_path / "weights"
    with (
        full_disk(50_000),
        pytest.raises(DataError, match=r"cannot write .*weights: the disk may be full"),
        atomic_path(target) as temporary,
    ):
        save({"w": torch.zeros(100_000)}, str(temporary))
    with pytest.raises(Exception, match="no such") as error, atomic_path(target):
        raise RuntimeError("no such layer")
    assert not isinstance(error.value, DataError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_atomic_path_keeps_the_old_file_and_nothing_else_when_the_block_fails(tmp_path, stop):
    (tmp_path / "target").write_text("old")
    with pytest.raises(stop), atomic_path(tmp_path / "target") as temporary:
        temporary.write_text("half")
        raise stop
    assert files_below(tmp_path) == ["target"]
    assert (tmp_path / "target").read_text() == "old"


def test_atomic_path_replaces_a_file_only_at_the_end(tmp_path):
    (tmp_path / "target").write_text("old")
    with atomic_path(tmp_path / "target") as temporary:
        temporary.write_text("new")
        assert (tmp_path / "target").read_text() == "old"
    assert (tmp_path / "target").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_atomic_path_makes_missing_folders_and_renames_whole_folders(tmp_path):
    with atomic_path(tmp_path / "a" / "b" / "target") as temporary:
        temporary.mkdir()
        (temporary / "file").write_text("x")
    assert files_below(tmp_path) == ["a/b/target/file"]
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["target"]


def test_atomic_path_keeps_a_folder_that_another_process_finished_meanwhile(tmp_path):
    with atomic_path(tmp_path / "target") as temporary:
        temporary.mkdir()
        (temporary / "mine").touch()
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "theirs").touch()
    assert files_below(tmp_path) == ["target/theirs"]


@pytest.mark.parametrize("theirs", [True, False])
def test_atomic_path_keeps_a_folder_that_another_process_finishes_at_the_same_moment(
    tmp_path, theirs, monkeypatch
):
    """The other folder appears after the look, while ours goes to the disk."""
    target = tmp_path / "target"

    def appear(_):
        if theirs:
            target.mkdir()
        (target / "theirs" if theirs else target).touch()

    monkeypatch.setattr("course_lib.files._to_disk", appear)
    expected = nullcontext() if theirs else pytest.raises(DataError, match="Not a directory")
    with expected, atomic_path(target) as temporary:
        temporary.mkdir()
        (temporary / "mine").touch()
    assert files_below(tmp_path) == (["target/theirs"] if theirs else ["target"])


def trouble(code, *paths):
    """An error of the operating system about no file, one file, or two (as in copying)."""
    names = [str(path) for path in paths]
    return OSError(code, os.strerror(code), *names[:1], *([None, names[1]] if names[1:] else []))


CODES = [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOSPC]


@pytest.mark.parametrize("code", CODES)
def test_trouble_with_another_file_passes_through_unchanged(tmp_path, code):
    others = (tmp_path / "elsewhere" / "target", tmp_path / "target2", tmp_path.parent)
    for other in others:
        error = trouble(code, other)
        with pytest.raises(OSError) as caught, atomic_path(tmp_path / "target"):
            raise error
        assert caught.value is error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "place",
    [
        lambda temporary, target: [target],
        lambda temporary, target: [temporary],
        lambda temporary, target: [temporary / "part" / "file"],
        lambda temporary, target: [target.parent],
        lambda temporary, target: ["somewhere/original", temporary],
    ],
    ids=["target", "temporary", "inside", "folder", "copied to it"],
)
def test_trouble_with_the_target_its_temporary_or_its_folder_names_the_target(
    tmp_path, code, place
):
    target = tmp_path / "target"
    with (
        pytest.raises(DataError, match=f"cannot write {target}: {os.strerror(code)}. Nothing"),
        atomic_path(target) as temporary,
    ):
        raise trouble(code, *place(temporary, target))
    assert list(tmp_path.iterdir()) == []


def test_full_disk_needs_no_name_but_a_missing_permission_does(tmp_path):
    with pytest.raises(DataError, match=r"cannot write .*No space"), atomic_path(tmp_path / "a"):
        raise trouble(errno.ENOSPC)
    with pytest.raises(PermissionError), atomic_path(tmp_path / "a"):
        raise trouble(errno.EACCES)


def test_target_given_relative_to_the_working_folder_is_recognised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="cannot write target"), atomic_path(Path("target")):
        raise trouble(errno.EACCES, tmp_path / "target")


def test_target_below_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    for target in (tmp_path / "file" / "target", tmp_path / "file" / "a" / "b" / "target"):
        with pytest.raises(DataError, match=f"cannot write {target}"), atomic_path(target):
            pytest.fail("nothing can be written there")


def test_target_whose_folders_cannot_be_made_is_named(tmp_path, monkeypatch):
    def refuse(path, mode=0o777):
        raise trouble(errno.EACCES, path) if path == top else trouble(errno.ENOENT, path)

    top, target = tmp_path / "a", tmp_path / "a" / "b" / "target"
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(DataError, match=f"cannot write {target}: Perm"), atomic_path(target):
        pytest.fail("nothing can be written there")


def test_data_error_from_inside_is_not_wrapped_in_another(tmp_path):
    inner = DataError("cannot write other: the disk may be full (os error 28)")
    with pytest.raises(DataError) as caught, atomic_path(tmp_path / "target"):
        raise inner
    assert caught.value is inner


def test_only_what_lies_in_the_data_folder_can_be_moved_by_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))
    for target, moves in (("data/prepared/x", True), ("results/x", False), ("data2/x", False)):
        with pytest.raises(DataError) as caught, atomic_path(tmp_path / target):
            raise trouble(errno.ENOSPC)
        assert (ADVICE in str(caught.value)) == moves
        with pytest.raises(DataError) as caught:
            check_space(tmp_path / target, 10**18)
        assert (ADVICE in str(caught.value)) == moves
        assert "Free some space" in str(caught.value)


@pytest.mark.parametrize(
    ("needed", "free", "message"),
    [
        (7_000_000_000, 6_500_000_000, "about 7.0 GB temporarily, .* only 6.5 GB free"),
        (12_600_000, 3_000_000, "about 12.6 MB temporarily, .* only 3.0 MB free"),
        (2_000_000_000, 45_000_000, "about 2.0 GB temporarily, .* only 45.0 MB free"),
        (30_000, 0, "about 30.0 kB temporarily, .* only 0 bytes free"),
    ],
)
def test_room_is_told_in_a_unit_that_shows_it(tmp_path, monkeypatch, needed, free, message):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free))
    with pytest.raises(DataError, match=message):
        check_space(tmp_path, needed)
    check_space(tmp_path, free)


@pytest.fixture
def synced(tmp_path, monkeypatch):
    """What was synced, in order: (its path below ``tmp_path``, whether the target stood then)."""
    order, sync = [], os.fsync

    def watch(descriptor):
        sync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        below = path.relative_to(tmp_path).parts
        order.append(("/".join(below[1:]) or "folder", (tmp_path / "target").exists()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to tell which file a descriptor stands for")
    monkeypatch.setattr(os, "fsync", watch)
    return order


def test_file_is_on_the_disk_before_it_gets_its_name_and_the_name_after(tmp_path, synced):
    with atomic_path(tmp_path / "target") as temporary:
        temporary.write_text("x")
    assert synced == [("target", False), ("folder", True)]


def test_all_of_a_folder_is_on_the_disk_before_it_gets_its_name(tmp_path, synced):
    with atomic_path(tmp_path / "target") as temporary:
        (temporary / "inner").mkdir(parents=True)
        (temporary / "inner" / "file").write_text("x")
        (temporary / "link").symlink_to("nowhere")
    names = [name for name, stood in synced if not stood]
    assert names == ["target/inner/file", "target/inner", "target"]
    assert synced[3:] == [("folder", True)]


def fail_to_sync(monkeypatch, code, folders, files=False):
    """Make syncing fail for folders, or for files."""
    sync = os.fsync

    def refuse(descriptor):
        is_folder = Path(f"/proc/self/fd/{descriptor}").is_dir()
        if folders if is_folder else files:
            raise trouble(code)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)


@pytest.mark.parametrize(("code", "kind"), [(errno.ENOSPC, DataError), (errno.EIO, OSError)])
def test_what_cannot_be_synced_never_gets_its_name(tmp_path, monkeypatch, code, kind):
    (tmp_path / "target").write_text("old")
    fail_to_sync(monkeypatch, code, folders=False, files=True)
    with pytest.raises(kind, match="target"), atomic_path(tmp_path / "target") as temporary:
        temporary.write_text("new")
    assert files_below(tmp_path) == ["target"]
    assert (tmp_path / "target").read_text() == "old"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_folder_that_cannot_be_synced_never_gets_its_name(tmp_path, monkeypatch):
    fail_to_sync(monkeypatch, errno.EIO, folders=True)
    with pytest.raises(OSError, match="target"), atomic_path(tmp_path / "target") as temporary:
        temporary.mkdir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_file_systems_that_cannot_sync_folders_are_written_to_all_the_same(tmp_path, monkeypatch):
    fail_to_sync(monkeypatch, errno.EINVAL, folders=True)
    with atomic_path(tmp_path / "target") as temporary:
        temporary.mkdir()
        (temporary / "file").touch()
    assert files_below(tmp_path) == ["target/file"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_file_that_has_its_name_is_no_error_whatever_its_folder_says(tmp_path, monkeypatch):
    fail_to_sync(monkeypatch, errno.EIO, folders=True)
    with atomic_path(tmp_path / "target") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "target").read_text() == "new"


def test_data_root_is_the_environments_folder_else_the_repositorys(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    assert data_root() == tmp_path
    monkeypatch.setenv("COURSE_DATA_DIR", "")
    assert data_root() == REPOSITORY / "data"
