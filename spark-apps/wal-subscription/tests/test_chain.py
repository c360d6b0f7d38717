"""The newest commit is found in a chain of any length by few questions; and a store that overwrites is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkjob.bucket import PAGE
from sparkjob.errors import Interrupted, Refused
from wal_subscription.records.progress import Progress
from wal_subscription.stops import MustStop
from wal_subscription.table import chain
from wal_subscription.table.chain import Chain, commit_path
from wal_subscription.table.commit import CHECKPOINT_EVERY, Commit, checkpoint_of
from wal_subscription.table.micro_batches import require_condition

FOLDER = "w/chains/wal_0/id/0"
PROGRESS = Progress("w", 1, "wal_0", "id", 0, 0, 0, 0, entries=0, rows=0, dead_letters=0, selection="s")


class Memory:
    """A bucket that counts what it is asked."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.asked = 0

    def create(self, path: str, content: bytes) -> bool:
        is_new = path not in self.objects
        self.objects.setdefault(path, content)
        return is_new

    def put(self, path: str, content: bytes) -> None:
        self.objects[path] = content

    def get(self, path: str) -> bytes:
        self.asked += 1
        if path not in self.objects:
            raise FileNotFoundError(path)
        return self.objects[path]

    def names(self, folder: str, after: str = "", most: int = PAGE) -> list[str]:
        self.asked += 1
        found = sorted(path.removeprefix(f"{folder}/") for path in self.objects if path.startswith(f"{folder}/"))
        return [name for name in found if name > after][:most]


def filled(commits: int) -> tuple[Memory, Chain]:
    """A chain of so many."""
    memory = Memory()
    for number in range(commits):
        memory.objects[commit_path(FOLDER, number)] = Commit(number, PROGRESS).to_bytes()
    return memory, Chain(memory, FOLDER, "wal_0")  # type: ignore[arg-type]


@given(st.integers(0, 700), st.data())
def test_the_newest_commit_is_found_wherever_one_begins_to_look(commits: int, data: st.DataObject) -> None:
    memory, found = filled(commits)
    known = data.draw(st.none() | st.integers(0, commits - 1)) if commits else None
    page = data.draw(st.integers(CHECKPOINT_EVERY + 1, 300))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chain, "PAGE", page)
        newest = found.newest(known)
    assert (-1 if newest is None else newest.number) == commits - 1
    assert memory.asked < 25


@given(st.integers(2, 400), st.data())
def test_a_commit_that_is_gone_behind_the_newest_checkpoint_is_told_and_one_before_it_is_not_needed(
    commits: int, data: st.DataObject
) -> None:
    memory, found = filled(commits)
    gone = data.draw(st.integers(0, commits - 2))
    del memory.objects[commit_path(FOLDER, gone)]
    if gone < checkpoint_of(commits - 1):
        newest = found.newest()
        assert newest is not None
        assert newest.number == commits - 1
    else:
        with pytest.raises(MustStop, match=f"commit {gone} is gone, and commit {commits - 1} is there"):
            found.newest()


@pytest.mark.parametrize("content", [b"", b"{}", Commit(1, PROGRESS).to_bytes()])
def test_what_is_no_commit_is_told(content: bytes) -> None:
    memory, found = filled(3)
    memory.objects[commit_path(FOLDER, 2)] = content
    with pytest.raises(MustStop, match=r"log/0+2\.json is no commit of this program"):
        found.newest()
    memory.objects[f"{FOLDER}/log/mine.json"] = b""
    with pytest.raises(MustStop, match=r"log/mine\.json is no commit of this program"):
        found.newest()


def test_a_checkpoint_is_made_of_the_commits_since_the_one_before_and_never_without_one_of_them() -> None:
    memory, found = filled(CHECKPOINT_EVERY * 2)
    found.append(Commit(CHECKPOINT_EVERY * 2, PROGRESS))
    assert [commit.number for commit in found.commits()] == list(range(CHECKPOINT_EVERY * 2 + 1))
    assert len([path for path in memory.objects if "/checkpoints/" in path]) == 1
    memory, found = filled(CHECKPOINT_EVERY)
    del memory.objects[commit_path(FOLDER, 7)]
    with pytest.raises(MustStop, match="commit 7 is gone"):
        found.append(Commit(CHECKPOINT_EVERY, PROGRESS))
    assert commit_path(FOLDER, CHECKPOINT_EVERY) not in memory.objects


def overwriting(memory: Memory) -> None:
    memory.create = lambda path, content: bool(memory.put(path, content) or True)  # type: ignore[method-assign,func-returns-value]


def forgetting(memory: Memory) -> None:
    memory.names = lambda *_: []  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("spoil", "error", "sentence"),
    [
        (overwriting, Refused, "the store does not know If-None-Match"),
        (forgetting, Interrupted, "the store does not have w/condition.json as it was written"),
    ],
)
def test_a_store_without_what_a_chain_stands_on_is_refused(
    spoil: Callable[[Memory], None], error: type[Exception], sentence: str
) -> None:
    memory = Memory()
    require_condition(memory, "w")  # type: ignore[arg-type]
    require_condition(memory, "w")  # type: ignore[arg-type]
    spoil(memory)
    with pytest.raises(error, match=sentence):
        require_condition(memory, "w")  # type: ignore[arg-type]
