"""A restore that dies at any of its steps, or is disturbed, says so; on topics that are made anew it ends well."""

from __future__ import annotations

import pickle
import secrets
import subprocess
import sys
from typing import Any

import pytest
import restores as helpers
from backups import Bed
from confluent_kafka import Producer
from pyspark import cloudpickle
from restores import GUARDED, Restores, before_batch, same, write_raw
from spark_marks import WITH_SPARK
from test_round_trip import transaction

from sparkjob.errors import Refused
from wal_backup.findings import Kind
from wal_backup.restore import run
from wal_backup.restore.appender import NotOurs
from wal_backup.restore.read_back import read_back
from wal_backup.restore.target import TargetKafka
from wal_backup.restore.task import TopicJob, restore_topic, write_topic

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK

START, RECORDS, PAD = 150_000, 400, 100
STEPS = {"in the padding": 2, "after DeleteRecords": 3, "between records": 5, "in the last padding": 6}
"""At which call of `append` a process dies: two are the padding, three the records, one the padding at the end."""
DIES = """
import os, pickle, sys
from wal_backup.restore import task
from wal_backup.restore.appender import Appender
calls, dies_at, honest = 0, int(sys.argv[1]), Appender.append
def append(self, batch):
    global calls
    calls += 1
    if calls == dies_at:
        os._exit(9)
    honest(self, batch)
Appender.append = append
task.write_topic(*pickle.loads(sys.stdin.buffer.read()))
"""


class Story:
    """A backup of one topic that begins late, with a hole behind its first record; three batches are its records."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.restores = bed, Restores(bed)
        self.topic = f"log_{secrets.token_hex(4)}"
        bed.topics.create(self.topic, config=GUARDED)
        helpers.begin_at(bed, self.topic, START)
        times = [1_700_000_000_000 + number for number in range(RECORDS)]
        records = [(b"k", secrets.token_bytes(6_000), None, time) for time in times]
        write_raw(bed, self.topic, records[:1])
        transaction(bed, self.topic, [b"gone"], commits=False)  # and its marker
        write_raw(bed, self.topic, records[3:])
        assert bed.back_up((self.topic, START, START + RECORDS)).code == 0
        self.before = bed.log(self.topic, START, START + RECORDS)

    def job(self) -> TopicJob:
        """What a task is given, when the topic was made anew."""
        return self.restores.job(self.topic, padTo={self.topic: START + RECORDS + PAD})

    def arguments(self, job: TopicJob) -> tuple[Any, ...]:
        """Of `write_topic`."""
        request = self.restores.parsed(self.topic)
        return job, self.restores.options, request.place, self.restores.folder

    def is_restored(self, job: TopicJob) -> None:
        """The topic has what was backed up, and nothing else."""
        written = write_topic(*self.arguments(job))
        assert read_back(job, written, self.restores.options) == []
        assert same(self.restores.log(self.topic), self.before, START, START + RECORDS + PAD)


@pytest.fixture(scope="module")
def story(shared_bed: Bed) -> Story:
    """Each test makes the topic anew."""
    return Story(shared_bed)


def test_a_process_that_dies_at_any_step_leaves_a_topic_that_is_refused_and_then_made_anew(story: Story) -> None:
    ends = set()
    for name, call in STEPS.items():
        job = story.job()
        died = subprocess.run(  # noqa: S603 - our own Python
            [sys.executable, "-c", DIES, str(call)], input=pickle.dumps(story.arguments(job)), check=False
        )
        assert died.returncode == 9, name
        state = story.restores.state(story.topic)
        ends.add((state.start, state.end))
        with pytest.raises(Refused, match=f"topic {story.topic} is not empty"):
            write_topic(*story.arguments(job))
        assert story.restores.state(story.topic) == state
    assert len(ends) == len(STEPS), ends
    assert (START, START) in ends
    story.is_restored(story.job())


def test_a_record_of_somebody_else_is_told_with_its_offset_whenever_it_comes(story: Story) -> None:
    job = story.job()
    with before_batch(4, lambda: write_foreign(story)), pytest.raises(NotOurs, match="something else wrote") as raised:
        write_topic(*story.arguments(job))
    between = raised.value.offset
    assert START < between < START + RECORDS
    job = story.job()
    written = write_topic(*story.arguments(job))
    write_foreign(story)
    (found,) = read_back(job, written, story.restores.options)
    assert (found.kind, found.topic, found.offset) == (Kind.NOT_OURS, story.topic, START + RECORDS + PAD)
    job = story.job()
    write_foreign(story)
    ended = restore_topic(*story.arguments(job))
    assert ended.trouble is not None
    assert "is not empty" in ended.trouble
    assert story.restores.state(story.topic).end == 1


def write_foreign(story: Story) -> None:
    producer = Producer({"bootstrap.servers": story.restores.servers})
    producer.produce(story.topic, b"foreign", partition=0)
    assert producer.flush(30) == 0


def test_a_topic_that_is_made_again_while_it_is_written_gets_no_record(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = TargetKafka.delete_records

    def made_again(target: TargetKafka, topic: str, topic_id: str, before: int) -> None:
        honest(target, topic, topic_id, before)
        story.restores.make_anew(topic)

    monkeypatch.setattr(TargetKafka, "delete_records", made_again)
    with pytest.raises(NotOurs, match="was made again"):
        write_topic(*story.arguments(story.job()))
    assert story.bed.topics.end(story.topic) == 0


def test_a_process_that_wakes_up_when_the_topic_was_made_again_deletes_nothing(story: Story) -> None:
    wakes_up_too_late(story)


def wakes_up_too_late(story: Story) -> None:
    """A process freezes before DeleteRecords; meanwhile another restore writes the topic anew, from an earlier offset.

    DeleteRecords goes by name: only the id, asked right before it, tells the two topics apart.
    """
    honest = TargetKafka.delete_records

    def freeze(target: TargetKafka, topic: str, topic_id: str, before: int) -> None:
        patch.undo()
        story.is_restored(story.job())
        honest(target, topic, topic_id, before + 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TargetKafka, "delete_records", freeze)
        with pytest.raises((Refused, NotOurs), match="made again"):
            write_topic(*story.arguments(story.job()))
    state = story.restores.state(story.topic)
    assert (state.start, state.end) == (START, START + RECORDS + PAD), "all that the other restore wrote is there"


def test_a_task_of_spark_that_dies_is_not_tried_again(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    try:
        monkeypatch.setattr(run, "restore_topic", dies_in_the_padding)
        answer = story.restores.restore(story.topic)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    assert answer.summary["outcome"] == "Interrupted", answer.summary
    assert story.restores.state(story.topic).end == 100_000
    monkeypatch.undo()
    assert story.restores.restore(story.topic).summary["outcome"] == "Passed"
    assert same(story.restores.log(story.topic), story.before, START, START + RECORDS)


def dies_in_the_padding(*arguments: Any) -> None:
    """In a worker of Spark."""
    script = DIES.replace("sys.argv[1]", "2").replace("sys.stdin.buffer.read()", "GIVEN")
    exec(script, {"GIVEN": pickle.dumps(arguments)})  # noqa: S102 - the same death as above
