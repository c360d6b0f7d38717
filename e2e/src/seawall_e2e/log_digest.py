"""What the toolbox pod runs: digests of logs, as any client reads them. It is given to `python -c`, so it stands alone.

log_digest.py SERVERS {"topic": [from, to], …}   prints {"topic": digest, …}

A digest is the SHA-256 over offset, timestamp, key, value and headers of each record.
"""

from __future__ import annotations

import hashlib
import json
import sys

from confluent_kafka import Consumer, TopicPartition

TIMEOUT = 30.0


def digest(consumer: Consumer, topic: str, start: int, end: int) -> str:
    """Of the records of these offsets."""
    consumer.assign([TopicPartition(topic, 0, start)])
    found, position = hashlib.sha256(), start
    while position < end:
        message = consumer.poll(TIMEOUT)
        if message is None or message.error():
            raise RuntimeError(f"{topic} gives no record at {position}: {message and message.error()}")
        position = (message.offset() or 0) + 1
        if position <= end:
            record = (message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers())
            found.update(repr(record).encode())
    return found.hexdigest()


def main() -> None:
    """Reads and prints."""
    ranges: dict[str, tuple[int, int]] = json.loads(sys.argv[2])
    settings = {"bootstrap.servers": sys.argv[1], "group.id": "digest", "isolation.level": "read_uncommitted"}
    # Without the last one, records that are gone would be skipped.
    consumer = Consumer(settings | {"enable.auto.commit": False, "auto.offset.reset": "error"})
    print(json.dumps({topic: digest(consumer, topic, *ends) for topic, ends in ranges.items()}))
    consumer.close()


if __name__ == "__main__":
    main()
