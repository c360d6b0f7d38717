"""What the toolbox pod runs: the rows of a topic, as a reader of committed ones gets them. It stands alone.

topic_rows.py SERVERS TOPIC   prints [[topic of the log, offset, row, sequence, operation, k, ts, digest of v], …]
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256

from confluent_kafka import Consumer, KafkaError, TopicPartition

TIMEOUT = 30.0


def main() -> None:
    """Reads partition 0 to its end, and prints."""
    settings = {"bootstrap.servers": sys.argv[1], "group.id": "judge", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
    rows = list[list[object]]()
    while True:
        message = consumer.poll(TIMEOUT)
        error = None if message is None else message.error()
        if message is None or (error is not None and error.code() != KafkaError._PARTITION_EOF):  # noqa: SLF001 - confluent-kafka calls it so
            raise RuntimeError(f"{sys.argv[2]} gives no record after {len(rows)} rows: {error}")
        if error is not None:
            break
        row = json.loads(message.value() or b"")
        place = [row[name] for name in ("topic", "offset", "row", "sequence", "op")]
        values = row["values"]
        rows.append([*place, values["k"], values["ts"], sha256(values["v"].encode()).hexdigest()[:16]])
    print(json.dumps(rows))
    consumer.close()


if __name__ == "__main__":
    main()
