"""What the toolbox pod runs: where logs end. It is given to `python -c`, so it stands alone.

log_ends.py SERVERS TOPIC…   prints {"topic": end, …}
"""

from __future__ import annotations

import json
import sys

from confluent_kafka import Consumer, TopicPartition

TIMEOUT = 30.0


def main() -> None:
    """Asks and prints."""
    consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "ends", "enable.auto.commit": False})
    ends = {topic: consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT)[1] for topic in sys.argv[2:]}
    print(json.dumps(ends))
    consumer.close()


if __name__ == "__main__":
    main()
