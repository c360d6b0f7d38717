"""Every benchmark runs small, on the beds of the other tests: it ends, its peer ran, and its JSON is of the format.

Nothing is said of its times. A benchmark that nobody runs does not run any more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import backup
import fleet
import ledger
import purge
import pytest
import reassign
import reference_database
import restore
import result_format
import run
import subscription
import topics
import verify
from beds import Beds
from confluent_kafka.admin import AdminClient, NewTopic
from raw_kafka import MAX_RECORDS, TIMEOUT, RawKafka, RawPasses, records_of_topic

from seawall_e2e.loopback import ApiServer, KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.java import QUICK
from seawall_e2e.loopback.spark import spark_variables
from tests.support.leftovers import clear_shared

ON_PODS = {"kafka", "roll"}
"""Of e2e/test_benchmarks.py."""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What benchmarks change of this process, or take from it, is as before afterwards; objects are gone.

    Their operators serve all namespaces: they would go on with what others left.
    """
    monkeypatch.setenv("KUBECONFIG", os.environ.get("KUBECONFIG", ""))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    yield
    clear_shared()


@pytest.fixture
def quick_spark(surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark starts as in other tests, with an archive of its classes."""
    for name, value in spark_variables().items():
        monkeypatch.setenv(name, value)


def small(folder: Path) -> list[str]:
    return ["--size", "small", "--results", str(folder)]


def peers_of(folder: Path, name: str) -> set[str]:
    """What a result compares with, once it is known to be of the format."""
    body: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    result_format.require_valid(body)
    assert body["name"] == name
    assert body["command"] == f"make bench BENCH={name} SIZE=small"
    return {result["against"] for result in body["results"]} - {None}


def test_each_benchmark_has_a_test_here_or_on_pods() -> None:
    assert {f"test_{name}" for name in run.PROGRAMS.keys() - ON_PODS} <= globals().keys()
    assert all((Path(run.__file__).parent / program).is_file() for program in run.PROGRAMS.values())


def test_ledger(tmp_path: Path) -> None:
    ledger.main(small(tmp_path))
    peers = {"least by topic in raw numpy", "least by topic of plain objects", "json.loads of the same answer"}
    assert peers < peers_of(tmp_path, "ledger")


@pytest.mark.integration
def test_topics(api_server: ApiServer, kafka: KafkaProcesses, tmp_path: Path) -> None:
    topics.main(small(tmp_path), Beds(kafka, api_server))
    assert peers_of(tmp_path, "topics") == {
        "create_topics until every leader answers",
        "create_topics until metadata shows every leader",
        "list_topics and describe_configs",
    }


@pytest.mark.integration
def test_fleet(api_server: ApiServer, kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path: Path) -> None:
    fleet.main(small(tmp_path), Beds(kafka, api_server, etcd))
    peers = {fleet.PEER, "list_topics and describe_configs, the same once a minute"}
    assert peers_of(tmp_path, "fleet") == peers


@pytest.mark.integration
def test_purge(api_server: ApiServer, kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path: Path) -> None:
    purge.main(small(tmp_path), Beds(kafka, api_server, etcd))
    assert peers_of(tmp_path, "purge") == {"list_offsets twice and delete_records"}


@pytest.mark.integration
def test_reassign(api_server: ApiServer, kafka: KafkaProcesses, tmp_path: Path) -> None:
    reassign.main(small(tmp_path), Beds(kafka, api_server))
    assert {"the busiest broker's bytes / throttle", "before, with one replica"} < peers_of(tmp_path, "reassign")


@pytest.mark.integration
def test_refdb(kafka: KafkaProcesses, etcd: EtcdProcess, tmp_path: Path) -> None:
    reference_database.main(small(tmp_path), Beds(kafka, shared_etcd=etcd))
    assert {peer.partition(",")[0] for peer in peers_of(tmp_path, "refdb")} == {
        "kafka-producer-perf-test",
        "kafka-consumer-perf-test on the same topic",
    }


@pytest.mark.integration
@pytest.mark.usefixtures("quick_spark")
def test_verify(kafka: KafkaProcesses, tmp_path: Path) -> None:
    verify.main(small(tmp_path), Beds(kafka))
    assert {verify.LOOP, verify.PERF} == peers_of(tmp_path, "verify")


@pytest.mark.integration
@pytest.mark.usefixtures("quick_spark")
def test_restore(kafka: KafkaProcesses, tmp_path: Path) -> None:
    restore.main(small(tmp_path), Beds(kafka))
    assert {restore.LOOP, restore.NULLS} == peers_of(tmp_path, "restore")


@pytest.mark.integration
@pytest.mark.usefixtures("quick_spark")
def test_subscription(kafka: KafkaProcesses, tmp_path: Path) -> None:
    subscription.main(small(tmp_path), Beds(kafka))
    assert {subscription.LOOP, subscription.MM2, "MirrorMaker 2"} == peers_of(tmp_path, "subscription")


@pytest.mark.integration
@pytest.mark.usefixtures("quick_spark")
def test_backup(kafka: KafkaProcesses, tmp_path: Path) -> None:
    backup.main(small(tmp_path), Beds(kafka))
    assert {backup.LOOP, backup.DISK, backup.SHA} == peers_of(tmp_path, "backup")


@pytest.mark.integration
def test_a_peer_that_does_other_work_is_no_peer(kafka: KafkaProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    size = topics.Size(topics=2)
    with Beds(kafka).brokers(3) as brokers:
        servers = ",".join(brokers.bootstrap_servers)
        raw = RawKafka(servers)
        with pytest.raises(RuntimeError, match="other configs"):
            topics.create_raw(raw, "bench-broken", size, {})
        with RawPasses(servers, "bench-broken", 3) as passes, pytest.raises(RuntimeError, match="2 topics of 3"):
            passes.run()
        bare = purge.RawPurge(servers)
        purge.Writer(servers).write(["bench-broken_0"], lambda _: [None])
        assert bare.purge(["bench-broken_0"]) > 0
        monkeypatch.setattr(bare, "delete", lambda before: dict.fromkeys(before, 0))
        with pytest.raises(RuntimeError, match="did not delete"):
            bare.purge(["bench-broken_0"])


@pytest.mark.integration
def test_a_run_whose_peer_is_broken_fails_and_has_no_result(
    api_server: ApiServer,
    kafka: KafkaProcesses,
    etcd: EtcdProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(purge.RawPurge, "delete", lambda _, before: dict.fromkeys(before, 0))
    with pytest.raises(RuntimeError, match="did not delete"):
        purge.main(small(tmp_path), Beds(kafka, api_server, etcd))
    assert not list(tmp_path.iterdir())


@pytest.mark.integration
def test_a_request_of_the_peer_has_as_many_topics_as_kafka_takes(kafka: KafkaProcesses) -> None:
    client = AdminClient({"bootstrap.servers": ",".join(kafka.bootstrap_servers), "log_level": 0})
    configs = {"min.insync.replicas": "2", "retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}

    def is_taken(count: int) -> bool:
        new = [NewTopic(f"bench-many_{number}", 1, 3, config=configs) for number in range(count)]
        answers = client.create_topics(new, request_timeout=TIMEOUT, validate_only=True).values()
        return not any(answer.exception(TIMEOUT) for answer in answers)

    most = MAX_RECORDS // records_of_topic(configs)
    assert is_taken(most)
    assert not is_taken(most + 1)
