"""What a guard of the sink of tables makes true, told so that a guard that is missing shows in seconds."""

from __future__ import annotations

import json
from dataclasses import replace

from led_anew import led_anew
from mirrors import clock_at
from record_harm import spoil_parts, spoil_value
from record_logs import CPU, MEM, NET
from table_acting import Acting, checkpoints_every

from sparkjob.bucket import Bucket
from wal_subscription.stops import Reason
from wal_subscription.table import process
from wal_subscription.table.jobs import Job

DEATHS = (("names", 1), ("put", 1), ("put", 2), ("create", 1), ("created", 1), ("created", 2))
"""A call of the store, and which one of them."""


class TableStories(Acting):
    """Each with a topic and a bucket of its own."""

    def a_log_is_written_row_by_row_and_not_once_more(self) -> None:
        """Of what is selected, in one part and in several, put and deleted."""
        tabled, log = self._made(tables={"include": ["public.*"], "exclude": ["public.mem"]})
        for number in range(20):
            log.entry((CPU, MEM, NET)[number % 3], 1 + number % 4, in_parts=number % 5 == 0, delete=number % 7 == 0)
        tabled.append(log)
        assert tabled.run_all() == []
        assert tabled.run_all() == []
        assert tabled.require_once(log, CPU) > 0
        assert len(tabled.commits()) == 2

    def an_entry_whose_parts_lie_on_both_sides_of_a_commit_is_whole(self) -> None:
        """And what stands between them is not there twice."""
        tabled, log = self._made()
        entry = log.begin(CPU, 6)
        for parts in (2, 1, 2):
            log.write(entry, parts)
            log.entry(MEM, 3)
            tabled.append(log)
            tabled.run_all()
        assert [(each["readFrom"], each["position"]) for each in tabled.commits()] == [(0, 0), (0, 3), (0, 5), (0, 8)]
        log.write(entry)
        tabled.append(log)
        tabled.run_all()
        assert tabled.require_once(log, CPU, MEM) == 15

    def who_is_overtaken_commits_nothing(self) -> None:
        """It has written its files, another driver commits, and then it would commit."""
        tabled, log = self._made()
        log.entry(CPU, 5)
        tabled.append(log)
        job = self._job(tabled)
        with self._once_before("create", lambda: self._copied(tabled, job), after=1):
            copied = self._copied(tabled, job)
        assert copied.trouble == f"another driver has made commit 1 of topic {tabled.sources[0]}"
        assert tabled.require_once(log, CPU) == 5
        assert len(list(tabled.root.rglob("*.parquet"))) == 2, "both had written a file"

    def whose_answer_was_lost_knows_its_own_commit(self) -> None:
        """The client sends a request again that had no answer: the store says that the object is there."""
        tabled, log = self._made()
        log.entry(CPU, 5)
        tabled.append(log)

        def lose(bucket: Bucket, path: str, content: bytes) -> bool:
            assert Bucket.create(bucket, path, content)
            return Bucket.create(bucket, path, content)

        with self._buckets(create=lose):
            copied = self._copied(tabled, self._job(tabled))
        assert (copied.trouble, copied.rows) == (None, 5)
        assert tabled.require_once(log, CPU) == 5

    def a_driver_that_dies_at_any_call_leaves_each_row_once(self) -> None:
        """Of the store: before it is asked, and after it has done it."""
        tabled, log, died = *self._made(), 0
        for what, nth in DEATHS:
            log.entry(CPU, 2, in_parts=True)
            log.entry(MEM)
            tabled.append(log)
            with self._dying_at(what, nth) as deaths:
                self._copied(tabled, self._job(tabled))
            died += len(deaths)
        tabled.run_all()
        rows = tabled.require_once(log, CPU, MEM)
        print(f"{died} deaths, {rows} rows once")  # noqa: T201 - the counts are the evidence
        assert died >= len(DEATHS) - 1  # only the first stretch creates twice

    def an_older_run_writes_no_more(self) -> None:
        """It would pass over what the newer one selects, which has begun, no more."""
        tabled, log = self._made(tables={"include": ["public.cpu"], "exclude": []})
        log.entry(CPU)
        tabled.append(log)
        old = tabled.start()
        assert tabled.run_all(old) == []
        tabled.tables, tabled.run = {"include": ["public.*"], "exclude": []}, 2
        self._copied(tabled, self._job(tabled))
        log.entry(MEM)
        tabled.append(log)
        stops = tabled.run_all(old)
        assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.FENCED, 1)]
        assert stops[0].message.endswith("is of run 2, and this is run 1")
        tabled.run_all()
        assert tabled.require_once(log, CPU, MEM) == 2

    def commits_of_another_subscription_are_told(self) -> None:
        """Somebody has put them there."""
        tabled, log = self._made()
        log.entry(CPU)
        tabled.append(log)
        tabled.run_all()
        self._rewrite(tabled, -1, writer="somebody.else")
        log.entry(CPU)
        tabled.append(log)
        stops = tabled.run_all(tabled.start(clock_at()))
        assert [stop.reason for stop in stops] == [Reason.DIVERGED]
        assert f"not of {tabled.writer}" in stops[0].message

    def a_source_that_has_another_record_now_is_told(self) -> None:
        """What was written last is compared each time."""
        tabled, log = self._made()
        log.entry(CPU)
        tabled.append(log)
        tabled.run_all()
        self._rewrite(tabled, -1, last="0" * 64)
        log.entry(CPU)
        tabled.append(log)
        assert [(stop.reason, stop.offset) for stop in tabled.run_all(tabled.start(clock_at()))] == [
            (Reason.DIVERGED, 0)
        ]

    def a_source_that_is_led_anew_is_compared_before_more_is_written(self) -> None:
        """It was compared when the job began, and another leader may have come after that."""
        tabled, log = self._grown(1)
        log.entry(MEM)
        tabled.append(log)
        job = self._job(tabled)
        assert job.epoch is not None
        with led_anew():
            copied = self._copied(tabled, job)
            assert (copied.end, copied.rows) == (1, 0)
            assert copied.trouble is not None
            assert "another leader" in copied.trouble
            copied = self._copied(tabled, replace(job, epoch=job.epoch + 1))
            assert (copied.end, copied.trouble) == (2, None)
        assert tabled.require_once(log, CPU, MEM) == 2

    def a_topic_that_was_made_again_is_not_read_on(self) -> None:
        """It has the name, and offsets that are alike."""
        tabled, log = self._made()
        log.entry(CPU)
        tabled.append(log)
        sides, job, chain = self._sides(tabled), self._job(tabled), tabled.chain()
        assert process.copy(job, sides).trouble is None
        self._make_again(tabled)
        before = sorted(chain.rglob("*.json"))
        copied = process.copy(Job(job.topic, 2, 0), sides)
        assert (copied.trouble, copied.stop) == (f"topic {tabled.sources[0]} was made again", None)
        assert sorted(chain.rglob("*.json")) == before

    def a_topic_that_is_made_again_meanwhile_is_not_committed(self) -> None:
        """What was read of it may be of the other one."""
        tabled, log = self._made()
        log.entry(CPU)
        tabled.append(log)
        sides, job, chain = self._sides(tabled), self._job(tabled), tabled.chain()
        with self._once_before("put", lambda: self._make_again(tabled)):
            copied = process.copy(job, sides)
        assert copied.trouble == f"topic {tabled.sources[0]} was made again"
        assert len(list(chain.rglob("*.json"))) == 1

    def a_commit_that_is_gone_stops_its_topic_and_every_start_finds_it_again(self) -> None:
        """One in the middle; nobody says what its rows were."""
        tabled, log = self._grown(3)
        tabled.log()[2].unlink()
        log.entry(CPU)
        tabled.append(log)
        for _ in range(2):
            stops = tabled.run_all(tabled.start(clock_at()))
            assert [stop.reason for stop in stops] == [Reason.TARGET_LOST]
            assert stops[0].message.endswith("is broken: commit 2 is gone, and commit 3 is there")
        assert len(tabled.log()) == 3

    def the_last_commit_that_is_gone_is_found_by_who_knew_it(self) -> None:
        """Its rows would come again: who has read them would have them twice."""
        tabled, log = self._grown(2)
        job = Job(self._job(tabled).topic, 3, 0, 2)
        tabled.log()[-1].unlink()
        log.entry(CPU)
        tabled.append(log)
        copied = self._copied(tabled, job)
        assert copied.stop is not None
        assert copied.stop.message.endswith("is broken: commit 2 is gone")
        assert len(tabled.log()) == 2

    def a_checkpoint_is_there_before_the_commit_that_names_it(self) -> None:
        """It says what the commits say that it is made of; when it is lost, they still do."""
        with checkpoints_every(2):
            there = list[bool]()

            def look(bucket: Bucket, path: str, content: bytes) -> bool:
                named = json.loads(content).get("checkpoint")
                if named:
                    there.append((tabled.chain() / "checkpoints" / f"{named:020}.json").exists())
                return Bucket.create(bucket, path, content)

            tabled, log = self._made()
            with self._buckets(create=look):
                self._grow(tabled, log, 4)
            assert there == [True] * 3
            found = [json.loads(path.read_bytes()) for path in sorted((tabled.chain() / "checkpoints").iterdir())]
            assert [each["number"] for each in found] == [2, 4]
            assert [each for checkpoint in found for each in checkpoint["commits"]] == tabled.commits()[:4]
            self._read_all(tabled, log)
            hidden = tabled.log()[1]
            content = hidden.read_bytes()
            hidden.unlink()
            self._read_all(tabled, log)
            log.entry(CPU)
            tabled.append(log)
            assert tabled.run_all() == []
            hidden.write_bytes(content)
            for path in (tabled.chain() / "checkpoints").iterdir():
                path.unlink()
            log.entry(CPU)
            tabled.append(log)
            assert tabled.run_all() == []
            self._read_all(tabled, log)
            assert tabled.require_once(log, CPU) == 6

    def a_record_that_gives_no_rows_stops_its_topic_and_every_start_finds_it_again(self) -> None:
        """All that stands before it is there, and nothing behind it."""
        for spoil in (spoil_value, spoil_parts):
            tabled, log = self._made()
            log.entry(CPU, 2)
            at = spoil(log)
            log.entry(MEM)
            tabled.append(log)
            for _ in range(2):
                stops = tabled.run_all(tabled.start(clock_at()))
                assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.UNREADABLE, at)]
                assert f"at offset {at}, of region" in stops[0].message
                assert [row["tableId"] for row in tabled.rows()] == [CPU, CPU]
