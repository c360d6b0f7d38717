"""What progress must say, and must be of, told so that a guard that is missing shows in seconds."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer
from handed_on import Handed
from mirrors import clock_at
from record_bed import RecordBed
from record_harm import spoil_parts, spoil_value
from record_logs import CPU, MEM, NET, Open, Written

from wal_subscription.records import process
from wal_subscription.records.decoder import OPEN_MILLISECONDS
from wal_subscription.records.jobs import Job
from wal_subscription.stops import MustStop, Reason, Stop, Trouble
from walrecord.region import region_id


class ProgressStories(RecordBed):
    """Each with topics of its own."""

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

    def a_topic_begins_anew_and_an_older_generation_writes_no_more(self) -> None:
        """As a person lets it: from where the log is now, of a topic that was made again, and counts go on."""
        handed, log = self._made()
        log.entry(CPU, 2)
        handed.append(log)
        old = handed.start()
        handed.run_all(old)
        old_sides, (name,) = old._sides, handed.sources
        handed.source.topics.delete(name)
        handed.source.create(name)
        again = Written()
        for table in (MEM, NET):
            again.entry(table)
        handed.append(again)
        handed.generation, handed.starts = 1, {name: 1}
        copied = process.copy(self._job(handed, end=1), self._sides(handed))  # it has begun, no more
        assert (copied.trouble, copied.stop) == (None, None)
        (place,) = handed.places().values()
        assert (place.generation, place.start, place.position, place.read_from) == (1, 1, 1, 1)
        assert (place.entries, place.rows, place.last) == (1, 2, None)
        (topic,) = old_sides.request.topics
        stop = process.copy(Job(topic, 2, 0), old_sides).stop
        said = f"the progress of topic {name} in the target is of generation 1, and this is generation 0"
        assert stop == Stop(name, Reason.FENCED, 1, said)
        assert handed.run_all(handed.start()) == []
        assert [row["tableId"] for row in handed.committed()] == [CPU, CPU, NET]
        (place,) = handed.places().values()
        assert (place.entries, place.rows) == (2, 3)
        handed.require_chain()

    def an_entry_that_was_given_up_is_told_when_its_end_comes_after_all(self) -> None:
        """It holds the log no longer, whoever goes on knows of it, and it does not pass in silence."""
        handed, log, entry = self._given_up()
        (place,) = handed.places().values()
        assert (place.position, place.read_from, place.given_up) == (4, 4, ((region_id(CPU, 0), 1),))
        handed.source.topics.delete_records(handed.sources[0], 4)
        at = len(log.records)
        log.write(entry, 1)
        handed.append(log)
        for _ in range(2):
            stops = handed.run_all(self._jumping(handed))
            assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.UNREADABLE, at)]
            assert "its entry began at offset 1, and was given up" in stops[0].message
        assert [row["tableId"] for row in handed.committed()] == [MEM, MEM]

    def an_entry_that_was_given_up_is_one_dead_letter(self) -> None:
        """And what comes after it is read as ever."""
        handed, log, entry = self._given_up(dead_letters=True)
        log.write(entry)
        handed.append(log)
        for _ in range(2):
            process.forget_all()
            log.entry(CPU, 3, in_parts=True)
            handed.append(log)
            assert handed.run_all() == []
        (place,) = handed.places().values()
        assert (place.dead_letters, place.given_up, place.rows) == (1, (), 2 + 2 * 3)

    def _given_up(self, **other: Any) -> tuple[Handed, Written, Open]:
        """The First of an entry is older than ten minutes, and the process that read it is no more."""
        handed, log = self._made(**other)
        log.entry(MEM)
        entry = log.begin(CPU, 4)
        log.write(entry, 2)
        handed.append(log, timestamp=1_000)
        handed.run_all()
        (place,) = handed.places().values()
        assert (place.read_from, place.given_up) == (1, ())
        log.entry(MEM)
        handed.append(log, timestamp=1_001 + OPEN_MILLISECONDS)
        handed.run_all(handed.start())
        process.forget_all()
        return handed, log, entry

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
