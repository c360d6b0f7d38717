"""Whether brokers tell what is so now: each answers by the metadata that it has, for as long as it is cut off.

A broker that hears no controller does not fence itself. It shows all that was true when it was cut off, itself Online
included, and whoever asks may be answered by it: in Kafka 4.3.1 DescribeCluster and Metadata are of a broker's own
metadata cache, and DescribeQuorum goes to the controllers. They know who follows their log.
"""

from __future__ import annotations

from seawall.domain.managed_kafka.found import KafkaAnswer
from seawall.domain.partitions import BrokerState
from seawall.domain.text import few
from seawall.domain.times import MANAGED_KAFKA_STALE_MS


def why_stale(answer: KafkaAnswer) -> str | None:
    """Why what was told of partitions may be old; None: every broker that is said to be Online follows the metadata."""
    if isinstance(answer.quorum, str):
        return f"how old what brokers tell is cannot be known: {answer.quorum}"
    follows = {
        each.id
        for each in (*answer.quorum.voters, *answer.quorum.observers)
        if each.id == answer.quorum.leader or each.keeps_up(MANAGED_KAFKA_STALE_MS)
    }
    online = (broker.id for broker in answer.brokers.values() if broker.state is BrokerState.ONLINE)
    behind = [f"broker {number}" for number in sorted(set(online) - follows)]
    return f"{few(behind)} follows no controller, and may tell what was so before" if behind else None
