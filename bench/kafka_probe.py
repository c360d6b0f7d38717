"""Kafka as a client sees it: is it there, and how long is a record not acknowledged? Given to `python -c` in a pod.

Its arguments are the topic and the brokers. It makes the topic, with a replica on each broker, and says when all of
them have acknowledged a record: a line of JSON with seconds of the machine's clock. From then on it writes to each
partition all the time, and answers a line of JSON to each line of stdin:

    in-sync   whether all replicas of the topic are
    gaps      milliseconds between two acknowledgements of a partition, since the last such question: the 99th
              percentile and the longest; how many records were acknowledged, and what failed
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

POLL, PAUSE, TIMEOUT = 0.2, 0.01, 5.0
SURE = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "log_level": 0}


class Acknowledgements:
    """When each partition acknowledged last, and the gaps since somebody asked."""

    def __init__(self) -> None:
        self.last: dict[int, float] = {}
        self.gaps: list[float] = []
        self.failed: list[str] = []
        self.lock = threading.Lock()

    def hear(self, error: KafkaError | None, message: Message) -> None:
        """A record was acknowledged, or given up."""
        now, partition = time.monotonic(), message.partition() or 0
        with self.lock:
            if error is not None:
                self.failed.append(str(error))
                return
            if partition in self.last:
                self.gaps.append((now - self.last[partition]) * 1000)
            self.last[partition] = now

    def tell(self) -> dict[str, object]:
        """All of it; from now on it counts anew."""
        with self.lock:
            gaps, failed, self.gaps, self.failed = sorted(self.gaps), self.failed, [], []
        p99 = gaps[int(len(gaps) * 0.99)] if gaps else None
        return {"p99": p99, "longest": gaps[-1] if gaps else None, "acknowledged": len(gaps), "failed": failed}


def wait_for(brokers: Sequence[str]) -> AdminClient:
    """Until each of them shows all of them."""
    for server in brokers:
        while True:
            kafka = AdminClient({"bootstrap.servers": server, "log_level": 0})
            try:
                if len(kafka.list_topics(timeout=1.0).brokers) == len(brokers):
                    break
            except KafkaException:
                pass
            time.sleep(POLL)
    return AdminClient({"bootstrap.servers": ",".join(brokers), "log_level": 0})


def make(kafka: AdminClient, topic: str, brokers: int) -> None:
    """A partition led by each broker, which they keep if they go one at a time."""
    placed = [[(first + each) % brokers for each in range(brokers)] for first in range(brokers)]
    config = {"min.insync.replicas": str(max(1, brokers - 1))}
    new = NewTopic(topic, len(placed), replica_assignment=placed, config=config)
    kafka.create_topics([new], request_timeout=TIMEOUT * 6)[topic].result(TIMEOUT * 6)


def is_in_sync(kafka: AdminClient, topic: str) -> bool:
    """Whether all replicas are, as one of the brokers knows it."""
    try:
        found = kafka.list_topics(topic, timeout=TIMEOUT).topics[topic]
    except KafkaException:
        return False
    return all(each.leader >= 0 and len(each.isrs) == len(each.replicas) for each in found.partitions.values())


def write(producer: Producer, topic: str, partitions: int, heard: Acknowledgements) -> None:
    """For ever."""
    while True:
        for partition in range(partitions):
            try:
                producer.produce(topic, b"x" * 100, partition=partition, on_delivery=heard.hear)
            except BufferError:  # Kafka is away, and the queue is full
                break
        producer.poll(PAUSE)


def main() -> None:
    """Until nobody asks."""
    topic, *brokers = sys.argv[1:]
    kafka = wait_for(brokers)
    make(kafka, topic, len(brokers))
    producer, heard = Producer({"bootstrap.servers": ",".join(brokers), **SURE}), Acknowledgements()
    for partition in range(len(brokers)):
        producer.produce(topic, b"x", partition=partition, on_delivery=heard.hear)
    while len(heard.last) < len(brokers):
        producer.poll(PAUSE)
    print(json.dumps({"served": time.time()}), flush=True)
    threading.Thread(target=write, args=(producer, topic, len(brokers), heard), daemon=True).start()
    for line in sys.stdin:
        answer = heard.tell() if line.strip() == "gaps" else {"in-sync": is_in_sync(kafka, topic)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
