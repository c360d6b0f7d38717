"""Logs that are spoilt, and a client of the target after whose calls nothing more is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from record_logs import CPU, Written

from wal_subscription.records import copier, process, sink


def spoil_value(log: Written) -> int:
    """An entry that is none; its offset."""
    entry = log.begin(CPU, in_parts=False)
    ((key, _),) = entry.parts
    log.records.append((key, b"\xff"))
    return len(log.records) - 1


def spoil_parts(log: Written) -> int:
    """An entry without the part before its Last; where that is."""
    entry = log.begin(CPU, 5)
    log.records += [*entry.parts[:-2], entry.parts[-1]]
    return len(log.records) - 1


class Dies(Producer):
    """A producer that something is done before, or after: set by who uses it."""

    before: Callable[[str], None]
    after: Callable[[str], None]

    def init_transactions(self, *arguments: Any) -> None:
        """As named."""
        self._do("init", lambda: Producer.init_transactions(self, *arguments))

    def begin_transaction(self, *arguments: Any) -> None:
        """As named."""
        self._do("begin", lambda: Producer.begin_transaction(self, *arguments))

    def produce(self, *arguments: Any, **other: Any) -> None:
        """As named."""
        self._do("produce", lambda: Producer.produce(self, *arguments, **other))

    def commit_transaction(self, *arguments: Any) -> None:
        """As named."""
        self._do("commit", lambda: Producer.commit_transaction(self, *arguments))

    def _do(self, what: str, act: Callable[[], None]) -> None:
        type(self).before(what)
        act()
        type(self).after(what)


@contextmanager
def acting(before: Callable[[str], None], after: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Producers that are made meanwhile do this."""
    kind = type("Acting", (Dies,), {"before": staticmethod(before), "after": staticmethod(after)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink, "Producer", kind)
        yield


@contextmanager
def once_before(call: str, act: Callable[[], None], after: int = 0) -> Iterator[None]:
    """Something happens before a call of the target's client, after so many of them."""
    seen, acted = list[str](), list[bool]()

    def before(what: str) -> None:
        seen.append(what)
        if what == call and seen.count(call) > after and not acted:
            acted.append(True)
            act()

    with acting(before):
        yield
    assert acted, f"there was no {call}"


@contextmanager
def dying_at(call: str, nth: int) -> Iterator[list[str]]:
    """The nth call of this kind is the last thing that is done, and nothing is put in order; says whether it came."""
    seen, died = list[str](), list[str]()

    def count(what: str) -> None:
        seen.append(what)
        if died or (what == call and seen.count(call) == nth):
            died.append(what)
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "died"))

    with (
        acting(count, lambda what: count("committed") if what == "commit" else None),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sink.Writer, "close", lambda _: None)
        patch.setattr(copier, "COMMIT_ROWS", 1)
        yield died
        process.forget_all()
