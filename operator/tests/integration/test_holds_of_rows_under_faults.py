"""While drivers that hand rows on and the store of tables are killed, the source keeps all that is not handed on.

As `test_holds_under_faults.py`, of a topic of rows and of a bucket at once.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.integration.test_rows_of_a_database import HandedOn, handed
from tests.support.held import SECONDS, Drivers, Sampler, hold_of, judge, request_of, wait_for_moves

__all__ = ["handed"]

pytestmark = [pytest.mark.integration, pytest.mark.soak, pytest.mark.timeout(3_000)]


def handed_to(topic: str, servers: Sequence[str], sources: int) -> Mapping[str, int]:
    """By topic of the log from where on it is needed, by the newest progress of rows."""
    options = {"bootstrap.servers": ",".join(servers), "group.id": "sampler", "isolation.level": "read_committed"}
    consumer = Consumer({**options, "enable.partition.eof": True})
    found, ended = dict[str, int](), set[int]()
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(sources)])
        while len(ended) < sources:
            message = consumer.poll(5.0)
            if message is None:
                raise TimeoutError("Kafka does not answer")
            if message.error() is not None:
                ended.add(int(message.partition() or 0))
                continue
            progress = json.loads(message.value() or b"")
            found[progress["topic"]] = progress["readFrom"]
    finally:
        consumer.close()
    return found


def committed_to(root: Path) -> Mapping[str, int]:
    """The same by the last commit of each chain."""
    logs = root.glob("*/chains/*/*/*/log")
    last = [json.loads(max(log.glob("*.json")).read_bytes()) for log in logs if any(log.glob("*.json"))]
    return {commit["topic"]: commit["readFrom"] for commit in last}


def test_holds_of_rows_and_tables_are_never_ahead_of_what_is_handed_on(handed: HandedOn, tmp_path: Path) -> None:
    handed.make_table("first")
    handed.write("first", "a")
    handed.subscribe()
    site, chance = handed.site, random.Random(7)  # noqa: S311 - faults
    all_drivers = {
        of: Drivers(request_of(site, of, tmp_path, lambda of=of: handed.explain(of)))  # type: ignore[misc]
        for of in ("changes", "lake")
    }
    progress = handed.status("changes")["records"]["progress"]["name"]
    servers, sources = handed.kafka.bootstrap_servers, handed.status("changes")["records"]["progress"]["partitions"]
    samplers = {
        "changes": Sampler(site.kube, hold_of(site, "changes"), lambda: handed_to(progress, servers, sources)),
        "lake": Sampler(site.kube, hold_of(site, "lake"), lambda: committed_to(handed.bucket / "wal")),
    }
    keys, stores, end = ["a"], 0, time.monotonic() + SECONDS
    try:
        for drivers in all_drivers.values():
            drivers.start()
            drivers.start()
        with ExitStack() as looks:
            for sampler in samplers.values():
                looks.enter_context(sampler.looks())
            while time.monotonic() < end:
                keys += (more := [f"{len(keys)}-{number}" for number in range(5)])
                handed.write("first", *more)
                drivers = chance.choice(list(all_drivers.values()))
                match chance.choice(("kill", "kill", "freeze", "store")):
                    case "kill":
                        drivers.kill(chance.randrange(2))
                    case "freeze":
                        drivers.freeze(chance.randrange(2), chance.uniform(0.2, 2.0))
                    case _:
                        handed.store.kill()
                        time.sleep(chance.uniform(0.2, 1.0))
                        handed.store.start()
                        stores += 1
            for of in all_drivers:
                handed.wait_until_held(of)
            for sampler in samplers.values():
                wait_for_moves(sampler)
        assert handed.has([("public.first", key) for key in keys])
        assert handed.has_written([("public.first", key) for key in keys])
    finally:
        for drivers in all_drivers.values():
            drivers.close()
    faults = sum((drivers.counts for drivers in all_drivers.values()), Counter[str]())
    judge("holds-of-rows", samplers, {**faults, "stores killed": stores, "rows": len(keys)})
