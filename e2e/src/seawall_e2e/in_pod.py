"""What the toolbox pod runs: Kafka as any client sees it. It is given to `python -c`, so it stands alone.

For each line of stdin, which is a JSON list, a line of JSON: {"answer": …} or {"error": text}.

["describe", PREFIX]           the topics with this prefix: partitions, replicas, configs set on the topic itself
["alter", TOPIC, KEY, VALUE]   sets a config behind the operator's back
["under_replicated", PREFIX]   the topics with this prefix of which a replica is not in sync
["cut", TOPIC, OFFSET]         deletes the records before an offset behind the operator's back
["offsets", PREFIX]            log start and high watermark of the topics with this prefix
["sample", PREFIX, NAMESPACE]  log starts, then the markers of the database in a namespace, then what it has flushed;
                               null when something does not answer
["spoil", TOPIC]               appends a record with a value and no key, unless the last one is such; its offset
["pierce", TOPIC]              appends a record in a transaction, whose end takes an offset without a record: that one
["repeat", TOPIC, START, BEFORE, REGION, TIMES = 1]
                               appends the records of a region from START to below BEFORE so many times more; how many
["delete", PREFIX]             deletes the topics with this prefix; their names
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Container
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    OffsetSpec,
    ResourceType,
    TopicMetadata,
)

AnswerT = TypeVar("AnswerT")

TIMEOUT = 20.0
LOOK_TIMEOUT = 5.0
"""What a broker was asked that dies meanwhile, librdkafka asks it again, and no other, until the time is over."""
LEADER_CHANGES = {
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._TRANSPORT,  # noqa: SLF001 - librdkafka's own codes have an underscore
}


def topics_of(kafka: AdminClient, prefix: str) -> dict[str, TopicMetadata]:
    """The topics with a prefix, as one of the brokers knows them."""
    found = _again(lambda: kafka.list_topics(timeout=LOOK_TIMEOUT).topics)
    return {name: topic for name, topic in found.items() if name.startswith(prefix)}


def describe(kafka: AdminClient, prefix: str) -> dict[str, Any]:
    """The topics with a prefix: partitions, replicas and configs.

    Their configs are perhaps asked of another broker, which has not heard of a new one yet, or of an end already.
    """
    return _again(lambda: _described(kafka, topics_of(kafka, prefix)), {KafkaError.UNKNOWN_TOPIC_OR_PART})


def _described(kafka: AdminClient, found: dict[str, TopicMetadata]) -> dict[str, Any]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in found]
    described = kafka.describe_configs(resources, request_timeout=TIMEOUT) if resources else {}
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    configs = {
        resource.name: {key: entry.value for key, entry in future.result(TIMEOUT).items() if entry.source == own}
        for resource, future in described.items()
    }
    return {
        name: {
            "partitions": len(topic.partitions),
            "replicas": {str(number): partition.replicas for number, partition in topic.partitions.items()},
            "configs": configs[name],
        }
        for name, topic in found.items()
    }


def under_replicated(kafka: AdminClient, prefix: str) -> list[str]:
    """The topics with a prefix of which some replica is not in sync, or which have no leader."""
    return [
        name
        for name, topic in topics_of(kafka, prefix).items()
        if any(each.leader < 0 or len(each.isrs) < len(each.replicas) for each in topic.partitions.values())
    ]


def alter(kafka: AdminClient, topic: str, key: str, value: str) -> None:
    """Sets a config."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    kafka.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource].result(TIMEOUT)


def cut(kafka: AdminClient, topic: str, offset: str) -> None:
    """Deletes records."""
    before = TopicPartition(topic, 0, int(offset))
    for future in kafka.delete_records([before], request_timeout=TIMEOUT).values():
        future.result(TIMEOUT)


def offsets(kafka: AdminClient, prefix: str) -> dict[str, list[int]]:
    """Topic → log start and high watermark of its partition 0. A leader that is new does not know at once."""
    names = list(topics_of(kafka, prefix))
    specs = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
    bounds = _again(lambda: [_bound(kafka, names, spec) for spec in specs], LEADER_CHANGES)
    return {name: [bound[name] for bound in bounds] for name in names}


def _again(ask: Callable[[], AnswerT], passing: Container[int] | None = None) -> AnswerT:
    """The answer to what is asked again while an error passes that has one of these codes; None: any."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return ask()
        except KafkaException as error:
            passes = passing is None or error.args[0].code() in passing
            if not passes or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _bound(kafka: AdminClient, names: list[str], spec: OffsetSpec) -> dict[str, int]:
    asked = kafka.list_offsets({TopicPartition(name, 0): spec for name in names}, request_timeout=TIMEOUT)
    return {partition.topic: future.result(TIMEOUT).offset for partition, future in asked.items()}


def sample(kafka: AdminClient, prefix: str, namespace: str) -> dict[str, dict[str, int]] | None:
    """What the database needs, and what there is; None when something does not answer."""
    try:
        return _sample(kafka, prefix, namespace)
    except (OSError, KafkaException):
        return None


def _sample(kafka: AdminClient, prefix: str, namespace: str) -> dict[str, dict[str, int]]:
    """Topic → log start, topic → marker, region → flushed entry id, read in this order.

    A region that is flushed in between needs less by then than a purge could know: that raises no alarm.
    """
    starts = {topic: start for topic, (start, _) in offsets(kafka, prefix).items()}
    key = f"__topic_name/kafka/{prefix}".encode()
    body = {"key": base64.b64encode(key).decode(), "range_end": base64.b64encode(key + b"\xff").decode()}
    pairs = _ask(f"http://etcd.{namespace}:2379/v3/kv/range", json.dumps(body).encode()).get("kvs", [])
    texts = {base64.b64decode(pair["key"]).decode(): base64.b64decode(pair["value"]) for pair in pairs}
    markers = {name.rsplit("/", 1)[1]: json.loads(text)["pruned_entry_id"] for name, text in texts.items()}
    flushed: dict[str, int] = {}
    for histories in _ask(f"http://metasrv.{namespace}:4000/admin/heartbeat"):
        for region in histories[-1]["region_stats"]:
            entry = region["region_manifest"]["Mito"]["flushed_entry_id"]
            flushed[region["id"]] = max(entry, flushed.get(region["id"], 0))
    return {"starts": starts, "markers": markers, "flushed": flushed}


def _ask(url: str, data: bytes | None = None) -> Any:
    with urllib.request.urlopen(url, data, TIMEOUT) as answer:  # noqa: S310 - http
        return json.load(answer)


def spoil(kafka: AdminClient, topic: str) -> int:
    """What no database wrote."""
    start, end = offsets(kafka, topic)[topic]
    if start == end or _read(topic, end - 1, end)[0].key() is not None:
        _append(topic, [(None, b"a canary of somebody's")])
        return end
    return end - 1


def pierce(kafka: AdminClient, topic: str) -> int:
    """As somebody does who takes a WAL for any topic."""
    before = offsets(kafka, topic)[topic][1]
    producer = Producer({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"], "transactional.id": f"pierce-{topic}"})
    producer.init_transactions(TIMEOUT)
    producer.begin_transaction()
    producer.produce(topic, None, None, partition=0)
    producer.commit_transaction(TIMEOUT)
    give_up = time.monotonic() + TIMEOUT
    while (end := offsets(kafka, topic)[topic][1]) < before + 2:  # the end is written after the answer
        if time.monotonic() > give_up:
            raise TimeoutError(f"the transaction of {topic} does not end")
        time.sleep(0.1)
    return end - 1


def repeat(_: AdminClient, topic: str, start: str, before: str, region: str, times: str = "1") -> int:
    """As they were written, in their order."""
    pairs = [(each.key(), each.value()) for each in _read(topic, int(start), int(before))]
    mine = [(key, value) for key, value in pairs if key and json.loads(key)["ns"]["region_id"] == int(region)]
    _append(topic, mine * int(times))
    return len(mine) * int(times)


def _append(topic: str, pairs: list[tuple[Any, Any]]) -> None:
    """In batches that the smallest max.message.bytes of the tests takes."""
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error)

    ordered = {"acks": "all", "enable.idempotence": True, "batch.size": 8_192}
    producer = Producer({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"], **ordered})
    for key, value in pairs:
        while True:
            try:
                producer.produce(topic, value, key, partition=0, on_delivery=on_delivery)
                break
            except BufferError:  # its queue is full
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(TIMEOUT) or failed:
        raise OSError(f"not all records were appended to {topic}: {failed[:1]}")


def _read(topic: str, start: int, before: int) -> list[Message]:
    own = {"group.id": "toolbox", "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = Consumer({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"], **own})
    found: list[Message] = []
    try:
        consumer.assign([TopicPartition(topic, 0, start)])
        while not found or (found[-1].offset() or 0) < before - 1:
            message = consumer.poll(TIMEOUT) if start < before else None
            if message is None or message.error() is not None:
                break
            found.append(message)
    finally:
        consumer.close()
    return [each for each in found if (each.offset() or 0) < before]


def delete(kafka: AdminClient, prefix: str) -> list[str]:
    """Deletes the topics with a prefix."""
    names = list(topics_of(kafka, prefix))
    for future in (kafka.delete_topics(names, request_timeout=TIMEOUT) if names else {}).values():
        future.result(TIMEOUT)
    return names


def main() -> None:
    """Answers as long as somebody asks. Each command has a new client: none knows of brokers that went away."""
    known: tuple[Callable[..., object], ...] = (
        describe,
        under_replicated,
        alter,
        cut,
        offsets,
        sample,
        spoil,
        pierce,
        repeat,
        delete,
    )
    verbs = {each.__name__: each for each in known}
    for line in sys.stdin:
        verb, *words = json.loads(line)
        said: dict[str, object]
        try:
            # Without sparse connections: else a request for a broker that is down takes a processor.
            servers = os.environ["BOOTSTRAP_SERVERS"]
            kafka = AdminClient({"bootstrap.servers": servers, "enable.sparse.connections": False})
            said = {"answer": verbs[verb](kafka, *words)}
        except (OSError, KafkaException) as error:
            said = {"error": repr(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
