"""Revisions of rows by what one process has read: whatever is found later is newer, however views overlap."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable

import pytest

from seawall.adapters.greptimedb.mysql_errors import Unfit
from seawall.adapters.greptimedb.mysql_session import _primary
from seawall.adapters.greptimedb.row_revisions import Asked, Numbers, RowRevisions

START = b"k"
KEYS = (b"k1", b"k2", b"k3")


class EarlyNumbers(RowRevisions):
    """Mutant: the number is taken before the snapshot."""

    def number(self, asked: Asked, counter: int, store_id: str) -> Numbers:
        super().number(asked, counter, store_id)
        return Numbers(asked.before + 1, asked.before + 1)


class NeverAlone(RowRevisions):
    """Mutant: a view does not care whether another one began meanwhile."""

    def number(self, asked: Asked, counter: int, store_id: str) -> Numbers:
        rows = super().number(asked, counter, store_id).rows
        return Numbers(rows, rows)


class LateViewsCount(RowRevisions):
    """Mutant: what an older view finds replaces what a newer one has found."""

    def observe(self, start: bytes, pairs: Iterable[tuple[bytes, bytes]], at: int) -> list[int]:
        newest = max((found for found, _ in self._ranges.values()), default=0)
        return super().observe(start, pairs, max(at, newest))


class Store:
    """A table of one range, whose views overlap at random. No value is written twice."""

    def __init__(self, revisions: RowRevisions, seed: int) -> None:
        self._store_id = f"mysql/{uuid.uuid4()}"
        self._random, self._revisions = random.Random(seed), revisions  # noqa: S311 - a test
        self._rows: dict[bytes, bytes] = {}
        self._written = self._counter = 0
        self._views: list[tuple[Numbers, dict[bytes, bytes]]] = []
        self._open: list[Callable[[], bool]] = []

    def run(self, steps: int) -> str | None:
        """What is wrong, if anything."""
        for _ in range(steps):
            match self._random.randrange(4):
                case 0:
                    self._write()
                case 1 if len(self._open) < 3:
                    self._open.append(self._steps_of_a_view())
                case _ if self._open:
                    step = self._random.choice(self._open)
                    if not step():
                        self._open.remove(step)
            if (wrong := self._wrong()) is not None:
                return wrong
        return None

    def _write(self) -> None:
        key = self._random.choice(KEYS)
        self._counter += self._random.randrange(3)  # it may stand still for a while
        if key in self._rows and self._random.random() < 0.3:
            del self._rows[key]
        else:
            self._written += 1
            self._rows[key] = str(self._written).encode()

    def _steps_of_a_view(self) -> Callable[[], bool]:
        """Ask, take the snapshot, number, read: each when it is called next; False when it is over."""
        asked = self._revisions.ask()
        snapshot: list[dict[bytes, bytes]] = []
        numbers: list[Numbers] = []

        def step() -> bool:
            if not snapshot:
                snapshot.append(dict(self._rows))
            elif not numbers:
                numbers.append(self._revisions.number(asked, self._counter, self._store_id))
            else:
                self._revisions.observe(START, sorted(snapshot[0].items()), numbers[0].rows)
                self._views.append((numbers[0], snapshot[0]))
                return False
            return True

        return step

    def _wrong(self) -> str | None:
        """A row of now that a view did not have, and that is not newer than the view."""
        for numbers, snapshot in self._views:
            for key, value in self._rows.items():
                revision = self._revisions.known(key, value, self._store_id)
                if snapshot.get(key) != value and revision is not None and revision <= numbers.view:
                    return f"{key!r} is {revision}, and a view that did not have it {numbers.view}"
        return None


def wrong(kind: type[RowRevisions], seeds: int = 300) -> list[str]:
    return [found for seed in range(seeds) if (found := Store(kind(), seed).run(80)) is not None]


def test_what_a_view_did_not_have_is_newer() -> None:
    assert wrong(RowRevisions) == []


@pytest.mark.parametrize("mutant", [EarlyNumbers, NeverAlone])
def test_mutants_are_found(mutant: type[RowRevisions]) -> None:
    assert wrong(mutant)


@pytest.fixture
def store_id() -> str:
    return f"mysql/{uuid.uuid4()}"


def view(
    revisions: RowRevisions, store_id: str, *pairs: tuple[bytes, bytes], counter: int = 0
) -> tuple[Numbers, list[int]]:
    numbers = revisions.number(revisions.ask(), counter, store_id)
    return numbers, revisions.observe(START, pairs, numbers.rows)


def test_what_a_view_finds_first_is_not_newer_than_it_and_stays(store_id: str) -> None:
    revisions = RowRevisions()
    first, (one,) = view(revisions, store_id, (b"k1", b"a"))
    second, (still, two) = view(revisions, store_id, (b"k1", b"a"), (b"k2", b"b"))
    assert one == still == first.view
    assert two == second.view > first.view
    assert revisions.known(b"k1", b"a", store_id) == one
    assert revisions.known(b"k1", b"b", store_id) is None, "another content"
    assert revisions.known(b"k1", b"a", "mysql/another") is None


def test_what_was_missing_in_a_view_is_new_when_it_is_back(store_id: str) -> None:
    revisions = RowRevisions()
    _, (one,) = view(revisions, store_id, (b"k1", b"a"))
    view(revisions, store_id)
    assert revisions.known(b"k1", b"a", store_id) is None
    _, (two,) = view(revisions, store_id, (b"k1", b"a"))
    assert two > one


@pytest.mark.parametrize(("kind", "is_back"), [(RowRevisions, False), (LateViewsCount, True)])
def test_an_older_view_that_is_late_brings_nothing_back(
    kind: type[RowRevisions], store_id: str, *, is_back: bool
) -> None:
    revisions = kind()
    old = revisions.number(revisions.ask(), 0, store_id)
    view(revisions, store_id)
    revisions.observe(START, [(b"k1", b"a")], old.rows)
    assert (revisions.known(b"k1", b"a", store_id) is not None) == is_back


def test_two_views_at_once_are_older_than_what_either_finds_first(store_id: str) -> None:
    revisions = RowRevisions()
    asked = [revisions.ask(), revisions.ask()]
    numbers = [revisions.number(each, 0, store_id) for each in asked]
    assert max(each.view for each in numbers) < min(each.rows for each in numbers)


def test_numbers_follow_the_store_so_that_they_outlive_a_process(store_id: str) -> None:
    first, _ = view(RowRevisions(), store_id, counter=1_000)
    second, (found,) = view(RowRevisions(), store_id, (b"k1", b"a"), counter=2_000)
    assert first.view == 1_000
    assert second.view == found == 2_000


def test_a_new_client_of_the_store_finds_nothing_that_is_as_old_as_what_another_read(store_id: str) -> None:
    """Its Secret was replaced between the decision to move a marker and the move."""
    before, after = RowRevisions(), RowRevisions()
    decided = [view(before, store_id, (b"k1", b"a"), counter=1_000)[0] for _ in range(9)][-1]
    _, (found,) = view(after, store_id, (b"k1", b"a"), counter=1_002)
    assert found > decided.view


def test_another_store_begins_anew(store_id: str) -> None:
    revisions = RowRevisions()
    view(revisions, store_id, (b"k1", b"a"))
    revisions.number(revisions.ask(), 0, "mysql/another")
    assert revisions.known(b"k1", b"a", "mysql/another") is None


@pytest.mark.parametrize(
    ("tables", "log", "sentence"),
    [
        ([], {}, "does not show the table in information_schema"),
        ([(1, "InnoDB", "u", 28800)], {}, "has not taken over wait_timeout"),
        ([(1, "InnoDB", "u", 1)], {}, "has no redo log"),
        (
            [(1, "InnoDB", "u", 1)],
            {"Innodb_redo_log_flushed_to_disk_lsn": "9", "Innodb_redo_log_enabled": "OFF"},
            "has no redo log",
        ),
    ],
    ids=["no table", "proxy", "no log", "off"],
)
def test_what_is_no_such_mysql_is_told(tables: list[tuple[object, ...]], log: dict[str, str], sentence: str) -> None:
    with pytest.raises(Unfit, match=sentence):
        _primary(tables, log, idle=1)
