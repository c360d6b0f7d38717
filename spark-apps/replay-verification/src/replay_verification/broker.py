"""What Kafka says of the topics that are verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replay_verification.coverage import LAST_TIME, Extent, LogState
from sparkjob.errors import Interrupted
from sparkjob.wire.kafka_state import KafkaState
from sparkjob.wire.reader import UNCOMMITTED, Range, RangeGone, Reader


class Broker:
    """Every answer has a deadline."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options, self._kafka = options, KafkaState(options)

    def cluster_id(self) -> str:
        """Kafka's id of the cluster.

        Raises:
            Interrupted: Kafka does not answer.
        """
        return self._kafka.cluster_id()

    def states(self, topics: Iterable[str]) -> dict[str, LogState]:
        """What Kafka says of each topic; what does not exist is left out.

        Raises:
            Refused: Kafka does not let its user describe one of them.
            Interrupted: Kafka does not answer.
        """
        return {
            name: LogState(log.topic_id, log.start, log.end, log.stable_end, log.partitions, log.late, log.epoch)
            for name, log in self._kafka.logs(topics, LAST_TIME + 1).items()
        }

    def last_epochs(self, extents: Iterable[Extent]) -> dict[Extent, int]:
        """The leader epochs of their last records.

        Raises:
            Refused: Kafka does not let its user read one of them.
            Interrupted: Kafka does not give one, or there is none: when nobody else leads meanwhile, it is not needed.
        """
        with Reader(self._options, isolation=UNCOMMITTED) as reader:
            return {extent: _last_epoch(reader, extent) for extent in extents}


def _last_epoch(reader: Reader, extent: Extent) -> int:
    try:
        last = [epoch for _, epoch in reader.read(Range(extent.topic, extent.end - 1, extent.end))]
    except RangeGone as gone:
        raise Interrupted(f"Kafka does not give the last records that were read: {gone}") from None
    if not last:
        raise Interrupted(
            f"topic {extent.topic} has another leader than before it was read, and does not give its record at offset "
            f"{extent.end - 1}: whether the log is the same is not known"
        )
    return last[0]
