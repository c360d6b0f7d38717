"""What was read is in the log still, or it is told: by a model of logs that lose their ends and grow again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Self

import pytest

from sparkjob.errors import Interrupted
from sparkjob.wire import epochs
from sparkjob.wire.connection import Leadership, OtherTopic
from sparkjob.wire.epochs import UNKNOWN, Piece, epochs_to_ask, first_lost, read_epoch_ends
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

ENDS = {2: 40, 3: 90, 4: 90, 5: 120}
"""A log with epochs 2, 3 and 5; another leader came at 40 and at 90, and it ends at 120."""
SEEDS = 400


PIECES = (
    (Piece(3, 40, 90), None),
    (Piece(3, 50, 60), None),
    (Piece(5, 90, 120), None),
    (Piece(3, 80, 100), 90),  # read before the log was cut to 90
    (Piece(3, 95, 100), 95),
    (Piece(4, 80, 90), 80),  # of a leader whose records are all gone
    (Piece(5, 85, 100), 85),  # read before the log was cut, and another leader's records came back
    (Piece(6, 119, 120), 119),
)


@pytest.mark.parametrize(("piece", "lost"), PIECES)
def test_an_epoch_that_the_log_does_not_have_there_is_lost(piece: Piece, lost: int | None) -> None:
    assert first_lost([Piece(2, 10, 40), piece], ENDS) == lost


def test_who_is_not_answered_has_lost_all() -> None:
    assert first_lost([Piece(0, 3, 9)], {}) == 3
    assert first_lost([], {}) is None


def test_an_epoch_is_asked_for_with_the_one_before_it() -> None:
    assert epochs_to_ask([Piece(0, 0, 1), Piece(4, 1, 2)]) == {0, 3, 4}


class Kafka:
    """Connections to one whose answers come in this order; the last one again and again."""

    def __init__(self, *leaders: object) -> None:
        self._leaders = list(leaders)

    def __call__(self, _: object) -> Kafka:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def leadership(self, *_: str) -> object:
        """A broker and its epoch, why there is none, or an error."""
        leader = self._leaders.pop(0) if len(self._leaders) > 1 else self._leaders[0]
        if isinstance(leader, Exception):
            raise leader
        return leader


@pytest.mark.parametrize("silence", [OSError("refused"), "there is no leader", Leadership(1, 3)])
def test_a_leader_that_is_not_there_is_asked_for_again(silence: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an epoch that is older than that of records that were read, it was replaced and does not know it."""
    monkeypatch.setattr(epochs, "Connection", Kafka(silence, OtherTopic("wal_0")))
    assert read_epoch_ends({}, {("wal_0", "id"): [4]}) == {"wal_0": {}}, "it was made again"
    monkeypatch.setattr(epochs, "Connection", Kafka(silence))
    monkeypatch.setattr(epochs, "SECONDS", 0.1)
    with pytest.raises(Interrupted, match="Kafka does not say where leader epochs end: "):
        read_epoch_ends({}, {("wal_0", "id"): [3, 4]})


@dataclass
class Replica:
    """A log, by the numbers of its records, and where it has a new leader, as Kafka's cache of epochs has it."""

    records: list[tuple[int, int]] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def cut(self, end: int) -> None:
        """Loses its end."""
        del self.records[end:]
        self.starts = [each for each in self.starts if each[1] < end]

    def lead(self, epoch: int) -> None:
        """Its end is where the epoch begins."""
        self.cut(len(self.records))
        self.starts.append((epoch, len(self.records)))

    def copy(self) -> Replica:
        """A follower that has all of it."""
        return Replica(list(self.records), list(self.starts))

    def end_of(self, epoch: int) -> int:
        """`LeaderEpochFileCache.endOffsetFor`."""
        if self.starts and self.starts[-1][0] == epoch:
            return len(self.records)
        return next((start for each, start in self.starts if each > epoch), UNKNOWN)


def pieces_of(read: Sequence[tuple[int, int]]) -> list[Piece]:
    """Of records with their epochs, from offset 0 on."""
    found = list[Piece]()
    for offset, (epoch, _) in enumerate(read):
        if found and found[-1].epoch == epoch:
            found[-1] = found[-1]._replace(end=offset + 1)
        else:
            found.append(Piece(epoch, offset, offset + 1))
    return found


def read_while_it_changes(random: Random) -> tuple[Replica, list[tuple[int, int]]]:
    """A log, and what somebody got of it who read one record after the other."""
    leader, followers, read, epoch, written = Replica(), list[Replica](), list[tuple[int, int]](), 0, 0
    leader.lead(epoch)
    for _ in range(60):
        match random.randrange(6):
            case 0 | 1 | 2:
                written += 1
                leader.records.append((epoch, written))
            case 3 | 4 if len(read) < len(leader.records):
                read.append(leader.records[len(read)])
            case 5 if random.random() < 0.4:
                followers.append(leader.copy())
                leader = random.choice(followers).copy()
                if random.random() < 0.5:
                    leader.cut(random.randint(0, len(leader.records)))
                epoch += random.randint(1, 2)
                leader.lead(epoch)
    return leader, read


def test_what_was_read_of_two_logs_is_told_and_nothing_else() -> None:
    cut = 0
    for seed in range(SEEDS):
        log, read = read_while_it_changes(Random(seed))  # noqa: S311 - the same each time
        pieces = pieces_of(read)
        lost = first_lost(pieces, {epoch: log.end_of(epoch) for epoch in epochs_to_ask(pieces)})
        bad = [at for at, record in enumerate(read) if log.records[at : at + 1] != [record]]
        assert (lost is None) is (not bad), seed
        assert not bad or lost is None or lost <= bad[0], seed
        cut += bool(bad)
    assert SEEDS / 10 < cut < SEEDS * 9 / 10, cut


def every_piece() -> None:
    """All that is lost, and all that is not."""
    for piece, lost in PIECES:
        test_an_epoch_that_the_log_does_not_have_there_is_lost(piece, lost)


MUTANTS: tuple[Mutant, ...] = tuple(
    (rewritten(epochs, "_lost", guard, "False"), every_piece) for guard in ("begin > piece.first", "end < piece.end")
)


def test_no_rule_can_be_taken_away() -> None:
    assert find_survivors(MUTANTS) == []
