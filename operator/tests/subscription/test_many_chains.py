"""Chains of many topics are read beside one another, so that the tick ends before the operator is taken for dead."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from seawall.api.v1alpha1.subscription_status import MirroredTopic
from seawall.domain.errors import OutsideUnavailable
from seawall.observe.chains import AT_ONCE, FEW, read_all

MANY = AT_ONCE * FEW
PATIENCE = 20.0


def topics(count: int) -> list[MirroredTopic]:
    return [MirroredTopic(name=f"wal_{number}", source_id=f"id{number}", start=0) for number in range(count)]


@dataclass
class Reader:
    """Answers only once so many wait for it at the same time."""

    threads: int
    barrier: threading.Barrier = field(init=False)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.threads)

    def read(self, row: MirroredTopic) -> None:
        self.asked.append(row.name)
        self.barrier.wait(PATIENCE)


def test_a_thousand_chains_are_not_read_one_after_another() -> None:
    reader = Reader(AT_ONCE)
    found = read_all(reader.read, topics(MANY))
    assert list(found) == [row.name for row in topics(MANY)]
    assert len(reader.asked) == MANY


def test_a_few_are_read_by_the_thread_that_asks() -> None:
    threads = set[int]()
    read_all(lambda _: threads.add(threading.get_ident()), topics(2 * FEW - 1))
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("count", [3, MANY])
def test_a_store_that_is_silent_is_not_asked_for_all(count: int) -> None:
    asked = list[str]()

    def read(row: MirroredTopic) -> None:
        asked.append(row.name)
        threading.Event().wait(0.05)
        raise OutsideUnavailable("the store does not answer")

    with pytest.raises(OutsideUnavailable, match="does not answer"):
        read_all(read, topics(count))
    assert len(asked) < max(2, count // 2)
