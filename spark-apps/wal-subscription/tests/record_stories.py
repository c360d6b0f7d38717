"""What makes rows come once, told so that a guard that is missing shows in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from led_anew import led_anew
from record_bed import RecordBed
from record_harm import dying_at, once_before
from record_logs import CPU, MEM, NET, Written

from wal_subscription.records import newest, process
from wal_subscription.stops import Reason, Trouble

DEATHS = ("init", "begin", "produce", "commit", "committed")


class RecordStories(RecordBed):
    """Each with topics of its own."""

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

    def a_source_that_is_led_anew_is_compared_before_more_is_handed_on(self) -> None:
        """What is open was compared under another leader."""
        handed, log = self._made()
        log.entry(CPU)
        handed.append(log)
        sides = self._sides(handed)
        assert process.copy(self._job(handed), sides).trouble is None
        log.entry(MEM)
        handed.append(log)
        job = self._job(handed)
        assert job.epoch is not None
        with led_anew():
            copied = process.copy(job, sides)
            assert (copied.end, copied.rows) == (1, 0)
            assert copied.trouble is not None
            assert "another leader" in copied.trouble
            copied = process.copy(replace(job, epoch=job.epoch + 1), sides)
            assert (copied.end, copied.trouble) == (2, None)
        assert handed.require_once(log, CPU, MEM) == 2

    def a_source_that_was_exchanged_after_the_plan_is_told(self) -> None:
        """It lost its end, and is longer now than what was planned: its last record would be the same next time."""
        handed, log = self._made()
        for _ in range(3):
            log.entry(CPU)
        handed.append(log)
        job, sides, other = self._job(handed, 5), self._sides(handed), Written()
        assert process.copy(self._job(handed), sides).end == 3
        name = f"{handed.name}-exchanged"
        handed.source.create(name)
        for _ in range(5):
            other.entry(NET)
        handed.source.topics.append({name: other.take()})
        assert job.epoch is not None
        with led_anew({job.topic.name: name}):
            assert process.copy(job, sides).end == 3
            stop = process.copy(replace(job, epoch=job.epoch + 1), sides).stop
        assert stop is not None
        assert (stop.reason, stop.offset) == (Reason.DIVERGED, 2)
        assert handed.require_once(log, CPU) == 3

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
