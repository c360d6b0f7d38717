"""What a guard makes true, told so that a guard that is missing shows in seconds."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from mirrors import Mirror, run_here
from test_round_trip_of_batches import IN_ONE_BATCH, produce

from sparkjob.wire.batches import nulls
from sparkjob.wire.connection import Connection, Line
from wal_subscription import copier, target
from wal_subscription.copier import Copied, Job, Sides, copy
from wal_subscription.micro_batches import MicroBatches
from wal_subscription.request import Topic, parse_request
from wal_subscription.source import LogSource
from wal_subscription.stops import MustStop, Reason, Trouble
from wal_subscription.target import LogTarget

RECORDS = [(b"k", b"%d" % number * 80) for number in range(40)]
"""Of a batch that is too large to be joined with others."""
BATCHES = 6


class Stories:
    """Each with topics of its own."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def a_log_in_batches_arrives_from_where_it_begins(self) -> None:
        """Within a batch."""
        mirror, name = self._made()
        produce(mirror, name, 100, **IN_ONE_BATCH)
        produce(mirror, name, 30, first=100, **IN_ONE_BATCH)
        mirror.source.topics.delete_records(name, 57)
        mirror.starts[name] = 57
        self._is_equal(name)

    def small_batches_are_joined_unless_the_target_takes_small_ones_only(self) -> None:
        """What one of them is not too large for may be too small for all."""
        for most_bytes, joins in (("1048588", True), ("500", False)):
            mirror, name = self._made(target={"max.message.bytes": most_bytes})
            for _ in range(BATCHES):
                mirror.source.topics.append({name: [(b"k", secrets.token_bytes(300))]})
            self._is_equal(name)
            with Connection(mirror.target.options) as connection:
                found = LogSource(connection, name, mirror.target.of(name).topic_id).fetch(0)
            assert (len(found) == 1) is joins

    def markers_become_nulls(self) -> None:
        """Else all that follows moves."""
        mirror, name = self._made()
        for _ in range(3):
            mirror.source.topics.append_in_transaction(name, RECORDS[:5])
        self._is_equal(name)

    def a_log_with_its_own_time_keeps_it(self) -> None:
        """As CreateTime."""
        mirror, name = self._made(source={"message.timestamp.type": "LogAppendTime"})
        produce(mirror, name, 20)
        self._is_equal(name)

    def a_foreign_record_before_the_first_batch_is_told_and_nothing_follows_that_batch(self) -> None:
        """Kafka does not know the producer yet, and takes any sequence."""
        mirror, name = self._in_batches()
        with before(ProduceRequest, lambda: mirror.target.topics.append({name: RECORDS[:1]})) as sent:
            copied = self._copied(name, compares=False)
        assert copied.stop is not None
        assert (copied.stop.reason, copied.stop.offset) == (Reason.DIVERGED, 0)
        # What is sent and not waited for may be appended after this reads the log's end.
        assert len(sent) == 1
        assert mirror.target.of(name).end == 1 + len(RECORDS)

    def a_foreign_record_at_the_end_is_told(self) -> None:
        """The condition alone would refuse for ever."""
        mirror, name = self._in_batches()
        self._is_equal(name)
        mirror.target.topics.append({name: RECORDS[:1]})
        mirror.source.topics.append({name: RECORDS})
        copied = self._copied(name, compares=False)
        assert copied.stop is not None
        assert (copied.stop.reason, copied.stop.offset) == (Reason.DIVERGED, BATCHES * len(RECORDS))

    def a_log_that_nobody_remembers_is_compared(self) -> None:
        """Kafka does not know the producer any more, and something is in the log."""
        mirror, name = self._in_batches()
        mirror.target.topics.append({name: [(b"of", b"somebody else")] * 3})
        copied = self._copied(name, compares=False)
        assert copied.stop is not None
        assert (copied.stop.reason, copied.stop.offset) == (Reason.DIVERGED, 0)
        assert mirror.target.of(name).end == 3

    def other_content_is_found_at_a_start(self) -> None:
        """The mirror's own producer wrote it."""
        mirror, name = self._in_batches()
        with Connection(mirror.target.options) as connection:
            log = self._log(connection, name)
            log.append(nulls(30, 0))
        copied = self._copied(name, compares=True)
        assert copied.stop is not None
        assert (copied.stop.reason, copied.stop.offset) == (Reason.DIVERGED, 0)

    def a_batch_that_is_sent_twice_is_there_once(self) -> None:
        """Kafka answers the second one with the offset and the time of the first."""
        mirror, name = self._made()
        with Connection(mirror.target.options) as connection:
            log = self._log(connection, name)
            log.append(nulls(30, 1_700_000_000_000))
            log.position = 0
            try:
                log.append(nulls(30, 1_700_000_000_000))
            except MustStop as stopped:
                pytest.fail(str(stopped.stop))
        assert mirror.target.of(name).end == 30

    def what_was_known_long_ago_is_not_relied_on(self) -> None:
        """Kafka may have forgotten the producer."""
        mirror, name = self._made()
        with Connection(mirror.target.options) as connection, pytest.MonkeyPatch.context() as patch:
            log = self._log(connection, name)
            honest = target._clock
            patch.setattr(target, "_clock", lambda: honest() + 301)
            with pytest.raises(Trouble, match="too old"):
                log.append(nulls(1, 0))
        assert mirror.target.of(name).end == 0

    def a_topic_that_is_made_again_while_it_is_read_by_its_name_gives_nothing(self) -> None:
        """As brokers before 3.1 are asked."""
        mirror, name = self._in_batches()
        honest = LogSource._request

        def by_name(log: LogSource, offset: int) -> Any:
            request = honest(log, offset)
            request.API_VERSION = 12
            return request

        def make_again() -> None:
            mirror.source.topics.delete(name)
            mirror.source.create(name)
            mirror.source.topics.append({name: [(b"of", b"another topic")] * 9})

        job = self._job(name, compares=False)
        with pytest.MonkeyPatch.context() as patch, before(FetchRequest, make_again):
            patch.setattr(LogSource, "_request", by_name)
            copied = copy(job, self._sides())
        copier.forget_connections()
        assert copied.trouble is not None
        assert mirror.target.of(name).end == 0

    def _made(self, **configs: Any) -> tuple[Mirror, str]:
        name = f"story-{secrets.token_hex(4)}"
        self._mirror.starts.clear()
        self._mirror.make(name, **configs)
        return self._mirror, name

    def _in_batches(self) -> tuple[Mirror, str]:
        mirror, name = self._made()
        for _ in range(BATCHES):
            mirror.source.topics.append({name: RECORDS})
        return mirror, name

    def _is_equal(self, name: str) -> None:
        """After a few micro-batches."""
        micro = MicroBatches(parse_request(json.dumps(self._mirror.request()).encode()), run_here)
        for _ in range(3):
            micro.once()
        assert micro.stops == []
        assert self._mirror.has_all(name)
        assert self._mirror.require_equal(name) > 0

    def _job(self, name: str, *, compares: bool) -> Job:
        (topic,) = self._mirror.parsed().topics
        source = self._mirror.source.of(name)
        return Job(topic, source.end, compares, epoch=source.epoch)

    def _sides(self) -> Sides:
        return Sides(self._mirror.source.options, self._mirror.target.options, self._mirror.producer)

    def _copied(self, name: str, *, compares: bool) -> Copied:
        copied = copy(self._job(name, compares=compares), self._sides())
        copier.forget_connections()
        return copied

    def _log(self, connection: Connection, name: str) -> LogTarget:
        log = LogTarget(connection, Topic(name, "", self._mirror.target.of(name).topic_id, 0), self._mirror.producer)
        log.open()
        return log


@contextmanager
def before(kind: type, act: Callable[[], None]) -> Iterator[list[Any]]:
    """Something happens right before the first request of this kind is sent; all that were sent are given."""
    sends, asks, acted, sent = Line.send, Connection.ask, list[bool](), list[Any]()

    def first(request: Any) -> None:
        if isinstance(request, kind) and not acted:
            acted.append(True)
            act()

    def send(line: Line, request: Any) -> Any:
        first(request)
        if isinstance(request, kind):
            sent.append(request)
        return sends(line, request)

    def ask(connection: Connection, request: Any, broker: int | None = None) -> Any:
        first(request)
        return asks(connection, request, broker)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Line, "send", send)
        patch.setattr(Connection, "ask", ask)
        yield sent
