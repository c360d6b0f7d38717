"""Replicas are moved under a load by an operator that is killed in mid-move; Kafka's own tools say where they are."""

from __future__ import annotations

import json
from typing import Any

from seawall_e2e.commands import kubectl
from seawall_e2e.site import Site
from seawall_e2e.waiting import wait_until

COUNT = 4
RECORDS = 4_000
"""Of a kilobyte, in each topic: at a megabyte a second the moves last for ten seconds and more."""
SLOWLY: dict[str, Any] = {"throttleBytesPerSecond": "1Mi", "maxConcurrentPartitions": 2}


def kafka_tool(*words: str, stdin: str = "") -> str:
    """What one of Kafka's own tools prints, in a broker's pod; `stdin` is in the file /tmp/moves.json."""
    script = 'cat >/tmp/moves.json; exec "$@"'
    tool = ("bash", "-c", script, "-", *words, "--bootstrap-server", "localhost:9092")
    return kubectl("-n", "kafka", "exec", "-i", "kafka-0", "--", *tool, stdin=stdin)


def replicas(site: Site) -> dict[str, list[int]]:
    """The replicas of the site's topics."""
    return {name: topic["replicas"]["0"] for name, topic in site.topics().items()}


def throttled(site: Site) -> list[str]:
    """The topics with a list of throttled replicas."""
    return [name for name, topic in site.topics().items() if any("throttled" in key for key in topic["configs"])]


def verified_by_kafka(site: Site) -> str:
    """What Kafka says of replicas that should be where they are; it must not clean up for us."""
    moves = [{"topic": name, "partition": 0, "replicas": found} for name, found in replicas(site).items()]
    text = json.dumps({"version": 1, "partitions": moves})
    verify = ("--reassignment-json-file", "/tmp/moves.json", "--verify", "--preserve-throttles")  # noqa: S108 - of the pod
    return kafka_tool("kafka-reassign-partitions", *verify, stdin=text)


def test_a_replication_factor_grows_under_load_and_no_produce_fails(site: Site) -> None:
    site.install()
    wal = site.wal_cluster()
    wal.apply(site.pool(COUNT, replicationFactor=1), reassignment=SLOWLY)
    wal.wait("Ready")
    with site.toolbox.loading(sorted(site.topics()), RECORDS) as load:
        wal.apply(site.pool(COUNT, replicationFactor=3), reassignment=SLOWLY)
        wait_until(lambda: throttled(site), "a topic is moved", within=60, explain=wal.explain)
        (pod,) = site.operator.pods()
        site.operator.crash(pod)
        assert throttled(site), "it was killed in mid-move"
        wal.wait("Ready", within=120)
    print(load)
    assert load["acknowledged"] > 0
    assert (load["failed"], load["lost"]) == ([], 0)
    assert all(len(found) == 3 for found in replicas(site).values())
    assert not throttled(site)
    rates = kafka_tool("kafka-configs", "--entity-type", "brokers", "--entity-default", "--describe")
    assert "throttled.rate" not in rates, rates
    said = verified_by_kafka(site)
    assert said.count("is completed") == COUNT, said
    assert wal.status()["reassignment"]["stage"] == "Completed"
    assert site.operator.restarts() == 1
