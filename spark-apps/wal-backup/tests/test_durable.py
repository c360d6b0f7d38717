"""In a folder a name is there when the disk has what is called so: power that fails takes nothing that counted."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sparkjob.errors import Interrupted
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from wal_backup import durable, store
from wal_backup.chain import read_chains
from wal_backup.layout import chain_folder, manifests_folder
from wal_backup.manifest import Manifest, Parent, digest_of_manifest, parse_manifest
from wal_backup.store import Folder, Store

EXAMPLE = parse_manifest(gzip.compress((Path(__file__).parents[1] / "contract/manifest.json").read_bytes()), "example")
FULL = replace(EXAMPLE, backup="full", parent=None, sequence=0)
CHAIN = chain_folder(FULL.cluster_id, FULL.chain)
DIES = """
import resource, signal, sys
from wal_backup.store import Folder, Store
root, path, size = sys.argv[1:]
content = sys.stdin.buffer.read()
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
Store(Folder(root)).write(path, content)
"""
"""A writer that the kernel kills at this byte of a file."""


def manifest_path(manifest: Manifest) -> str:
    return f"{manifests_folder(CHAIN)}/{manifest.name}"


def following(before: Manifest) -> Manifest:
    """The next backup of its chain."""
    (topic,) = before.topics
    begins = replace(topic, start=topic.end, end=topic.end + 9)
    parent = Parent(before.name, digest_of_manifest(before.to_bytes()))
    return replace(before, backup="next", sequence=before.sequence + 1, parent=parent, topics=(begins,))


def test_a_writer_that_dies_at_half_a_manifest_leaves_a_chain_that_is_whole_and_goes_on(tmp_path: Path) -> None:
    place, child = Store(Folder(str(tmp_path))), following(FULL)
    place.write(manifest_path(FULL), FULL.to_bytes())
    content = child.to_bytes()
    command = [sys.executable, "-c", DIES, str(tmp_path), manifest_path(child), str(len(content) // 2)]
    died = subprocess.run(command, input=content, check=False)  # noqa: S603 - our own Python
    assert died.returncode == -signal.SIGXFSZ
    (half,) = (tmp_path / CHAIN / "tmp").iterdir()
    assert half.read_bytes() == content[: len(content) // 2]
    (chain,) = read_chains(place, FULL.cluster_id)
    assert ([each.manifest for each in chain.path], chain.problems) == ([FULL], ())
    again = replace(child, attempt=child.attempt + 1)
    place.write(manifest_path(again), again.to_bytes())
    (chain,) = read_chains(place, FULL.cluster_id)
    assert ([each.manifest for each in chain.path], chain.problems) == ([FULL, again], ())
    place.delete_all(CHAIN)
    assert place.sizes(CHAIN) == {}, "what is half goes with its chain"


@contextmanager
def recorded() -> Iterator[list[str]]:
    """What is asked of the disk inside: what has it, what it is asked to have, and what gets its name."""
    calls, honest_sync, honest_replace, honest_link = list[str](), os.fsync, os.replace, os.link

    def sync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        calls.append(f"sync {path}" if is_folder else f"sync {path.parent.name} with {os.fstat(handle).st_size}")
        honest_sync(handle)

    def renamed(source: str | Path, target: str | Path) -> None:
        calls.append(f"name {target}")
        honest_replace(source, target)

    def linked(source: str | Path, target: str | Path) -> None:
        calls.append(f"name {target}")
        honest_link(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        patch.setattr(os, "replace", renamed)
        patch.setattr(os, "link", linked)
        yield calls


def by_write(place: Store, path: str, content: bytes, _: Path) -> None:
    place.write(path, content)


def by_put(place: Store, path: str, content: bytes, local: Path) -> None:
    local.write_bytes(content)
    place.put(path, local)


def by_create(place: Store, path: str, content: bytes, _: Path) -> None:
    assert place.create(path, content)


def names_come_after_the_disk(write: Callable[[Store, str, bytes, Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top, path, content = Path(folder) / "store", manifest_path(FULL), FULL.to_bytes()
        top.mkdir()
        with recorded() as calls:
            write(Store(Folder(f"{top}/")), path, content, Path(folder) / "local")
        final = top / path
        ways = [parent for parent in final.parents if parent == top or top in parent.parents]
        assert calls == [f"sync tmp with {len(content)}", f"name {final}", *(f"sync {each}" for each in ways)]
        assert final.read_bytes() == content
        assert list((top / CHAIN / "tmp").iterdir()) == []


@pytest.mark.parametrize("write", [by_write, by_put, by_create])
def test_a_name_comes_after_the_disk_has_the_file_and_the_answer_after_it_has_the_name(
    write: Callable[[Store, str, bytes, Path], None],
) -> None:
    names_come_after_the_disk(write)


def of_all_who_create_a_file_one_does() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, path, contents = Store(Folder(folder)), manifest_path(FULL), [b"%d" % number for number in range(8)]
        with ThreadPoolExecutor(len(contents)) as pool:
            answers = list(pool.map(lambda content: place.create(path, content), contents))
        assert answers.count(True) == 1
        assert place.read(path) == contents[answers.index(True)]
        assert list((Path(folder) / CHAIN / "tmp").iterdir()) == []


def test_of_all_who_create_a_file_at_the_same_instant_one_does_and_nobody_overwrites_it() -> None:
    of_all_who_create_a_file_one_does()


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_hard_links_takes_a_manifest_and_says_what_is_not_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    monkeypatch.setattr(os, "link", failing(code))
    place, path = Store(Folder(str(tmp_path))), manifest_path(FULL)
    assert place.create(path, b"content")
    assert (place.read(path), "has no hard links" in caplog.text) == (b"content", True)


def test_a_link_that_fails_otherwise_interrupts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", failing(errno.EIO))
    with pytest.raises(Interrupted, match="Input/output error"):
        Store(Folder(str(tmp_path))).create(manifest_path(FULL), b"content")
    assert not (tmp_path / manifest_path(FULL)).exists()


def failing(code: int) -> Callable[[Path, Path], None]:
    """A disk that says so when a file is to have a second name."""

    def link(*_: Path) -> None:
        raise OSError(code, os.strerror(code))

    return link


def answering(code: int, *, of_folders: bool) -> Callable[[int], None]:
    """A disk that says so of files, or of folders."""

    def sync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode) is of_folders:
            raise OSError(code, os.strerror(code))

    return sync


@pytest.mark.parametrize("of_folders", [True, False])
def test_a_disk_that_does_not_take_it_interrupts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, of_folders: bool
) -> None:
    monkeypatch.setattr(os, "fsync", answering(errno.EIO, of_folders=of_folders))
    with pytest.raises(Interrupted, match="Input/output error"):
        Store(Folder(str(tmp_path))).write(manifest_path(FULL), FULL.to_bytes())
    assert list((tmp_path / CHAIN / "tmp").iterdir()) == [], "a writer that lives cleans up"
    assert (tmp_path / manifest_path(FULL)).exists() is of_folders


def test_what_is_in_no_chain_is_written_all_the_same(tmp_path: Path) -> None:
    place = Store(Folder(str(tmp_path)))
    for path in ("one", "two/three"):
        place.write(path, b"content")
        assert place.read(path) == b"content"


def test_a_file_system_that_syncs_no_folders_is_one_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CIFS: a file is synced as anywhere."""
    monkeypatch.setattr(os, "fsync", answering(errno.EINVAL, of_folders=True))
    place = Store(Folder(str(tmp_path)))
    place.write(manifest_path(FULL), FULL.to_bytes())
    assert place.read(manifest_path(FULL)) == FULL.to_bytes()


def test_no_guard_can_be_taken_away() -> None:
    def written() -> None:
        names_come_after_the_disk(by_write)

    mutants: tuple[Mutant, ...] = (
        (rewritten(durable, "publish", "os.fsync(sink.fileno())", "pass", store), written),
        (rewritten(durable, "publish", "_sync(folder)", "pass", store), written),
        (rewritten(durable, "publish", "folder == top", "True", store), written),
        (rewritten(durable, "publish", "sink.flush()", "pass", store), written),
        (rewritten(durable, "publish", "if creates:", "if False:", store), of_all_who_create_a_file_one_does),
    )
    assert find_survivors(mutants) == []
