"""A restore that is refused has made and changed nothing: no offset is taken, no log begins elsewhere."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import pytest
from backups import Answer, Bed
from confluent_kafka.admin import AdminClient, NewPartitions
from restores import GUARDED, Restores
from spark_marks import WITH_SPARK

from seawall_e2e.waiting import wait_until
from wal_backup.manifest import digest_of_manifest

pytest_plugins = ("spark_beds", "backup_beds")
pytestmark = WITH_SPARK


class Story:
    """A backup of two topics, which were made anew: the first one is what a restore is refused for."""

    def __init__(self, bed: Bed) -> None:
        self.bed, self.restores = bed, Restores(bed)
        self.topic, self.other = (f"{name}_{secrets.token_hex(4)}" for name in ("log", "other"))
        bed.topics.create(self.topic, self.other, config=GUARDED)
        bed.topics.append({self.topic: [(b"k", b"v" * 2_000)], self.other: [(b"k", b"v")]})
        assert bed.back_up((self.topic, 0, 1), (self.other, 0, 1)).code == 0
        self.restores.make_anew(self.topic, self.other)
        self.digest = self.restores.plan().summary["plan"]["digest"]

    def request(self, **other: Any) -> dict[str, Any]:
        """Of a restore that nothing speaks against, or the same with other members."""
        return {**self.restores.request(self.digest, self.topic, self.other), **other}

    def with_config(self, config: Mapping[str, str]) -> None:
        """The first topic is made anew with such a config."""
        self.restores.config = {**GUARDED, **config}
        self.restores.make_anew(self.topic)

    def refuses(self, request: Mapping[str, Any], *words: str, ends: tuple[int, int] = (0, 0)) -> Answer:
        """It says so, and the topics are as they were."""
        answer = self.bed.run("restore", request)
        assert answer.summary["outcome"] == "Refused", answer.summary
        for word in words:
            assert word in answer.summary["message"], answer.summary
        assert (self.bed.topics.end(self.topic), self.bed.topics.end(self.other)) == ends
        return answer


@pytest.fixture
def story(folder_bed: Bed) -> Story:
    return Story(folder_bed)


def test_what_is_asked_of_kafka_before_anything_is_written(story: Story) -> None:
    topic, other, bed = story.topic, story.other, story.bed
    kafka = {**story.request()["kafka"], "clusterId": "another"}
    story.refuses(story.request(kafka=kafka), bed.cluster_id, "not another")

    story.refuses(story.request(planDigest="0" * 64), story.digest, "0" * 64, "was approved")
    story.refuses(story.request(topics=[]), "does not give the id of topic")
    ids = [{"name": name, "topicId": id_} for name, id_ in story.restores.ids(topic, other).items()]
    story.refuses(story.request(topics=[*ids, {"name": "third", "topicId": "x"}]), "gives the id of topic third")
    wrong = [{**ids[0], "topicId": ids[1]["topicId"]}, ids[1]]
    story.refuses(story.request(topics=wrong), ids[0]["name"], "made again")

    for config, words in {
        ("retention.ms", "86400000"): ("retention.ms=86400000", "-1 is needed"),
        ("retention.bytes", "1000000"): ("retention.bytes=1000000", "-1 is needed"),
        ("cleanup.policy", "compact"): ("cleanup.policy=compact", "delete is needed"),
        ("message.timestamp.type", "LogAppendTime"): ("LogAppendTime", "CreateTime is needed"),
        ("message.timestamp.before.max.ms", "1000"): ("message.timestamp.before.max.ms=1000", "is needed"),
        ("max.message.bytes", "2077"): ("max.message.bytes=2077", "needs 2078"),
    }.items():
        story.with_config(dict([config]))
        story.refuses(story.request(), topic, *words)
    story.with_config({"max.message.bytes": "2078"})
    assert bed.run("restore", story.request()).summary["outcome"] == "Passed"
    story.refuses(story.request(), "is not empty: it has offsets 0 to 1", ends=(1, 1))


def test_a_topic_that_was_written_to_is_gone_or_has_partitions(story: Story) -> None:
    topic, other, bed = story.topic, story.other, story.bed
    bed.topics.append({topic: [(None, b"new")]})
    bed.topics.delete_records(topic, 1)
    story.refuses(story.request(), f"topic {topic} is not empty: it has offsets 1 to 1", ends=(1, 0))
    story.restores.make_anew(topic)
    admin = AdminClient({"bootstrap.servers": bed.topics.servers})
    (made,) = admin.create_partitions([NewPartitions(topic, 2)]).values()
    made.result(30)
    wait_until(lambda: len(admin.list_topics(topic, 30).topics[topic].partitions) == 2, "it has two partitions")
    story.refuses(story.request(), topic, "has 2 partitions")
    story.restores.make_anew(topic)
    request = story.request()
    bed.topics.delete(topic)
    answer = bed.run("restore", request)
    assert (answer.summary["outcome"], bed.topics.end(other)) == ("Refused", 0), answer.summary
    assert f"topic {topic} is not there" in answer.summary["message"]


def test_a_backup_that_grew_is_another_plan_unless_its_name_was_said(story: Story) -> None:
    bed, restores = story.bed, story.restores
    assert restores.plan().summary["plan"]["digest"] == story.digest
    (manifest,) = (bed.chain / "manifests").iterdir()
    named = restores.plan(backup=manifest.name).summary["plan"]["digest"]
    assert named == story.digest
    parent = Answer(0, {"manifest": {"name": manifest.name, "digest": digest_of_manifest(manifest.read_bytes())}})
    source = f"more_{secrets.token_hex(4)}"
    bed.topics.fill({source: [(None, b"v")]})
    assert bed.back_up((source, 0, 1), parent=parent, name="more").code == 0
    story.refuses(story.request(plan=restores.plan_request()), story.digest, "was approved")
    request = story.request(plan=restores.plan_request(backup=manifest.name))
    assert bed.run("restore", request).summary["outcome"] == "Passed"
