"""What a guard of the sink of records makes true, told so that a guard that is missing shows in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from handed_on import Handed
from mirrors import Side, clock_at
from record_logs import CPU, MEM, NET, Written

from wal_subscription.records import copier, newest, process, sink
from wal_subscription.records.copier import Copier, Job, Sides
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.source import connect
from wal_subscription.stops import MustStop, Reason, Stop, Trouble

DEATHS = ("init", "begin", "produce", "commit", "committed")


class RecordStories:
    """Each with topics of its own."""

    def __init__(self, source: Side, target: Side) -> None:
        self._source, self._target = source, target
        self._connections = connect(source.options), connect(target.options)

    def close(self) -> None:
        process.forget_all()
        for connection in self._connections:
            connection.close()

    def a_log_is_handed_on_row_by_row_and_not_once_more(self) -> None:
        """Of what is selected, in one part and in several, put and deleted."""
        handed, log = self._made(tables={"include": ["public.*"], "exclude": ["public.mem"]})
        for number in range(20):
            log.entry((CPU, MEM, NET)[number % 3], 1 + number % 4, in_parts=number % 5 == 0, delete=number % 7 == 0)
        handed.append(log)
        assert handed.run_all() == []
        process.forget_all()
        assert handed.run_all() == []
        assert handed.require_once(log, CPU) > 0

    def an_entry_whose_parts_lie_on_both_sides_of_a_commit_is_whole(self) -> None:
        """And what stands between them is not there twice."""
        handed, log = self._made()
        entry = log.begin(CPU, 4)
        log.write(entry, 2)
        log.entry(MEM, 3)
        handed.append(log)
        handed.run_all()
        (place,) = handed.places().values()
        assert (place.read_from, place.position) == (0, 3)
        handed.require_once(log, CPU, MEM, NET)
        log.write(entry)
        handed.append(log)
        handed.run_all(handed.start())  # another process
        assert handed.require_once(log, CPU, MEM, NET) == 7

    def who_is_overtaken_commits_nothing(self) -> None:
        """It has sent its rows, another one begins and hands them on, and then it would commit."""
        handed, log = self._made()
        log.entry(CPU, 5)
        handed.append(log)
        job, other = self._job(handed), self._copier(handed)
        with once_before("commit", lambda: other.run(job), after=1):
            late = self._copier(handed)
            with pytest.raises(Trouble, match="another driver has begun"):
                late.run(job)
        assert handed.require_once(log, CPU) == 5

    def who_was_overtaken_between_two_jobs_begins_anew_at_once(self) -> None:
        """As a topic's tasks go from one of Spark's workers to another, and back."""
        handed, log = self._made()
        other, sides = self._copier(handed), self._sides(handed)
        for _ in range(2):
            log.entry(CPU, 2)
            handed.append(log)
            copied = process.copy(self._job(handed), sides)
            assert (copied.trouble, copied.rows) == (None, 2)
            log.entry(MEM)
            handed.append(log)
            if other.progress is not None:
                other = self._copier(handed)
            other.run(self._job(handed))
        assert handed.require_once(log, CPU, MEM) == 6

    def who_begins_reads_what_was_committed_until_then(self) -> None:
        """Up to the very moment in which it fences."""
        handed, log = self._made()
        log.entry(CPU, 5)
        handed.append(log)
        job, first = self._job(handed), self._copier(handed)
        with once_before("init", lambda: first.run(job)):
            self._copier(handed).run(job)
        assert handed.require_once(log, CPU) == 5

    def a_transaction_of_somebody_else_hides_no_progress(self) -> None:
        """Readers of committed records are not let beyond it; progress that is behind it is waited for."""
        handed, log = self._made()
        log.entry(CPU, 2)
        handed.append(log)
        handed.run_all()
        foreign = Producer({**handed.target.options, "transactional.id": handed.name})
        foreign.init_transactions(30)
        foreign.begin_transaction()
        foreign.produce(handed.progress, b"?", b"?", 0)
        foreign.flush()
        log.entry(CPU, 2)
        handed.append(log)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(newest, "SECONDS", 1.5)
            process.copy(self._job(handed), self._sides(handed))  # of the process that is open
            process.forget_all()
            copied = process.copy(self._job(handed), self._sides(handed))
            assert copied.trouble is not None
            assert "has a transaction open at offset" in copied.trouble
        foreign.abort_transaction(30)
        handed.run_all()
        assert handed.require_once(log, CPU) == 4

    def a_driver_that_dies_at_any_call_leaves_each_row_once(self) -> None:
        """Of the target's client: before it is asked, and after it has done it."""
        died = self._die(DEATHS, 2)
        assert died >= 2 * len(DEATHS) - 2

    def a_driver_that_dies_when_it_commits_leaves_each_row_once(self) -> None:
        """As above."""
        assert self._die(("commit", "committed"), 2) > 2

    def _die(self, calls: Iterable[str], times: int) -> int:
        """How often one died."""
        handed, log = self._made()
        died = 0
        for what in calls:
            for nth in range(1, times + 1):
                log.entry(CPU, 2, in_parts=True)
                log.entry(MEM)
                handed.append(log)
                process.forget_all()
                with dying_at(what, nth) as deaths:
                    process.copy(self._job(handed), self._sides(handed))
                died += len(deaths)
        handed.run_all(handed.start())
        rows = handed.require_once(log, CPU, MEM)
        print(f"{died} deaths, {rows} rows once")  # noqa: T201 - the counts are the evidence
        return died

    def an_older_run_writes_no_more(self) -> None:
        """Its selection is an old one: it would pass over what the newer one selects."""
        handed, log = self._made(tables={"include": ["public.cpu"], "exclude": []})
        log.entry(CPU)
        handed.append(log)
        old = handed.start()
        assert handed.run_all(old) == []
        log.entry(MEM)
        handed.append(log)
        handed.tables, handed.run = {"include": ["public.*"], "exclude": []}, 2
        old_sides = old._sides
        self._copier(handed).run(self._job(handed, end=1))  # the newer one has begun, no more
        copied = process.copy(self._job(handed), old_sides)
        assert copied.stop == Stop(
            handed.sources[0],
            Reason.FENCED,
            1,
            f"the progress of topic {handed.sources[0]} in the target is of run 2, and this is run 1",
        )
        handed.run_all(handed.start())
        assert handed.require_once(log, CPU, MEM) == 2

    def a_source_that_has_another_record_now_is_told(self) -> None:
        """What was handed on last is compared when one begins."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        handed.run_all()
        (place,) = handed.places().values()
        other = b'"last":"%s"' % (b"0" * 64)
        content = place.to_json().replace(f'"last":"{place.last}"'.encode(), other)
        producer = Producer(handed.target.options)
        producer.produce(handed.progress, content, place.topic.encode(), 0)
        assert producer.flush(30) == 0
        log.entry(CPU)
        handed.append(log)
        assert [(stop.reason, stop.offset) for stop in handed.run_all(self._jumping(handed))] == [(Reason.DIVERGED, 0)]

    def a_topic_that_was_made_again_is_not_read_on(self) -> None:
        """It has the name, and offsets that are alike."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        ours, job = self._copier(handed), self._job(handed)
        ours.run(job)
        (name,) = handed.sources
        handed.source.topics.delete(name)
        handed.source.create(name)
        other = Written()
        other.entry(CPU)
        other.entry(NET)
        handed.append(other)
        with pytest.raises(Trouble, match="was made again"):
            ours.run(Job(job.topic, 2, 0))
        assert handed.require_once(log, CPU) == 1

    def nothing_is_written_to_a_topic_that_was_made_again(self) -> None:
        """Its rows would be those of another subscription."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        ours, job = self._copier(handed), self._job(handed)
        ours.run(job)
        handed.target.topics.delete(handed.rows)
        handed.target.create(handed.rows)
        log.entry(CPU)
        handed.append(log)
        with pytest.raises(Trouble, match="was made again"):
            ours.run(Job(job.topic, 2, 0))
        ours.close()
        assert handed.committed() == []

    def progress_that_was_deleted_is_told(self) -> None:
        """Else all rows would come again."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        handed.run_all()
        handed.target.topics.delete(handed.progress)
        handed.target.create(handed.progress)
        handed.target.topics.append({handed.progress: [(b"?", b"?")]})
        handed.target.topics.delete_records(handed.progress, 1)
        with pytest.raises(MustStop) as told:
            self._copier(handed).run(self._job(handed))
        assert told.value.stop.reason is Reason.TARGET_LOST
        assert "has lost the progress" in told.value.stop.message

    def progress_of_another_subscription_is_told(self) -> None:
        """Two of them that were given one topic."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        handed.run_all()
        request = handed.request()
        request["records"]["writer"] = "somebody.else"
        stops = handed.run_all(handed.start(clock_at(), records=request["records"]))
        assert [stop.reason for stop in stops] == [Reason.DIVERGED]
        assert "not of somebody.else" in stops[0].message

    def a_record_that_gives_no_rows_stops_its_topic_and_every_start_finds_it_again(self) -> None:
        """All that stands before it is there, and nothing behind it."""
        for spoil in (spoil_value, spoil_parts):
            handed, log = self._made()
            log.entry(CPU, 2)
            at = spoil(log)
            log.entry(MEM)
            handed.append(log)
            for _ in range(2):
                stops = handed.run_all(self._jumping(handed))
                assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.UNREADABLE, at)]
                assert f"at offset {at}, of region" in stops[0].message
                assert [row["tableId"] for row in handed.committed()] == [CPU, CPU]

    def _made(self, count: int = 1, **other: Any) -> tuple[Handed, Written]:
        process.forget_all()
        handed = Handed(self._source, self._target, **other)
        handed.make(count)
        return handed, Written()

    def _sides(self, handed: Handed) -> Sides:
        return Sides(handed.source.options, handed.target.options, handed.parsed())

    def _job(self, handed: Handed, end: int | None = None) -> Job:
        (topic,) = handed.parsed().topics
        return Job(topic, handed.source.of(topic.name).end if end is None else end, 0)

    def _copier(self, handed: Handed) -> Copier:
        (topic,) = handed.parsed().topics
        return Copier(topic, self._sides(handed), *self._connections)

    def _jumping(self, handed: Handed) -> RecordsBatches:
        return handed.start(clock_at())


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
