"""The topics that a restore writes to: all that can refuse it is asked before a record is written."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.kafka_state import SECONDS, UNKNOWN, KafkaState, TopicState, answer
from wal_backup.restore.plan import TopicPlan

_HEARSAY_SECONDS, _PAUSE_SECONDS = 3.0, 0.2
RIGHTS = {
    AclOperation.DESCRIBE: "Describe",
    AclOperation.DESCRIBE_CONFIGS: "DescribeConfigs",
    AclOperation.READ: "Read",
    AclOperation.WRITE: "Write",
    AclOperation.DELETE: "Delete",
}
"""What a restore does with its topics: Kafka is asked for them all (KIP-430), since half a log is worse than none."""
MOST_BYTES = "max.message.bytes"
_MOST_AHEAD = "message.timestamp.after.max.ms"
"""So far may a record's time be ahead of the broker's; an hour by default since Kafka 4.0."""
_TIMES = {"message.timestamp.type": "CreateTime", "message.timestamp.before.max.ms": str(2**63 - 1)}
"""Nobody guards these: a topic has what its WALCluster declares, or else the brokers' default."""
_NEEDED = {"cleanup.policy": "delete", **_TIMES, "retention.bytes": "-1", "retention.ms": "-1"}
"""With others Kafka would delete old records at once, drop some of them, give them its own time, or take none."""

_DECLARED = "set it in spec.topics.config of the WALCluster, or as the brokers' default"


class TargetKafka:
    """The Kafka that is written to."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._servers = options["bootstrap.servers"]
        self._state, self._admin = KafkaState(options), AdminClient(dict(options))

    def require_cluster(self, cluster_id: str) -> None:
        """Refuses another Kafka.

        Raises:
            Refused: it is another one.
            Interrupted: Kafka does not answer.
        """
        found = self._state.cluster_id()
        if found != cluster_id:
            raise Refused(f"the Kafka cluster at {self._servers} is {found}, not {cluster_id}")

    def require_topics(self, topics: Sequence[TopicPlan], ids: Mapping[str, str]) -> dict[str, int]:
        """Refuses topics that cannot take what is planned: by topic, the most bytes of a batch.

        Raises:
            Refused: one is not there, not the one that was meant, not empty, or does not keep what it is given; or
                Kafka does not let its user do all that a restore does.
            Interrupted: as above.
        """
        names = [topic.name for topic in topics]
        for name in ids:
            if name not in names:
                raise Refused(f"the request gives the id of topic {name}, which the plan does not have")
        for name in names:
            if name not in ids:
                raise Refused(f"the request does not give the id of topic {name}, which the plan has")
        found = self.find_topics(names)
        for name in names:
            require_empty(name, ids[name], found.get(name))
        self._state.require_rights(names, RIGHTS, "a restore")
        configs = answer(lambda: self._configs(names), UNKNOWN)
        for topic in topics:
            _require_configs(topic, configs[topic.name])
        return {name: int(configs[name][MOST_BYTES]) for name in names}

    def find_topics(self, names: Sequence[str]) -> dict[str, TopicState]:
        """The topics that there are: a broker hears of a new one a moment after others. Raises as `require_cluster`."""
        give_up = time.monotonic() + _HEARSAY_SECONDS
        while True:
            found = self._state.topics(names)
            if len(found) == len(names) or time.monotonic() > give_up:
                return found
            time.sleep(_PAUSE_SECONDS)

    def delete_records(self, topic: str, topic_id: str, before: int) -> None:
        """Lets the log of this id begin there.

        DeleteRecords goes by name: a process that froze may wake up when another restore has made the topic anew. So
        the id is asked right before each try.

        Raises:
            Refused: the topic has another id, or is gone.
            Interrupted: Kafka does not do it.
        """
        start = answer(lambda: self._delete_records(topic_id, TopicPartition(topic, 0, before)))
        if start != before:
            raise Interrupted(f"topic {topic} begins at offset {start} after its records before {before} were deleted")

    def _delete_records(self, topic_id: str, before: TopicPartition) -> int:
        self._admin.list_topics(timeout=SECONDS)  # else librdkafka goes on with a leader that is none any more (ADR 18)
        require_same(before.topic, topic_id, self.find_topics([before.topic]).get(before.topic))
        (future,) = self._admin.delete_records([before], request_timeout=SECONDS).values()
        return int(future.result(SECONDS).low_watermark)

    def _configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
        futures = self._admin.describe_configs(asked, request_timeout=SECONDS)
        return {
            resource.name: {name: entry.value for name, entry in future.result(SECONDS).items()}
            for resource, future in futures.items()
        }


def require_same(name: str, topic_id: str, found: TopicState | None) -> TopicState:
    """Refuses a topic that is not the one that was made to be written to.

    Raises:
        Refused: it is so.
    """
    if found is None:
        raise Refused(f"topic {name} is not there")
    if found.topic_id != topic_id:
        raise Refused(f"topic {name} is {found.topic_id}, not {topic_id}: it was made again")
    return found


def require_empty(name: str, topic_id: str, found: TopicState | None) -> None:
    """Refuses a topic that is not the one that was made to be written to, or that was written to.

    Raises:
        Refused: it is so.
    """
    found = require_same(name, topic_id, found)
    if found.end > 0 or found.start > 0:
        raise Refused(f"topic {name} is not empty: it has offsets {found.start} to {found.end}")


def _require_configs(topic: TopicPlan, config: Mapping[str, str]) -> None:
    for name, needed in _NEEDED.items():
        if config[name] != needed:
            where = f": {_DECLARED}" if name in _TIMES else ""
            raise Refused(f"topic {topic.name} has {name}={config[name]}, and {needed} is needed to restore it{where}")
    ahead = max((section.newest for section in topic.sections), default=0) - int(time.time() * 1000)
    if ahead > int(config[_MOST_AHEAD]):
        raise Refused(
            f"topic {topic.name} has {_MOST_AHEAD}={config[_MOST_AHEAD]}, and its newest record is {ahead} ms ahead of "
            f"now: {_DECLARED}"
        )
    most = int(config[MOST_BYTES])
    if most < topic.largest:
        raise Refused(
            f"topic {topic.name} has {MOST_BYTES}={most}, and its largest record needs {topic.largest}: set it higher"
        )
