"""The topic pool at 1,000 topics: apply → Ready, a pass with nothing to do, memory, reaction to an edit.

The operator, the API server and the brokers are processes of their own on loopback, as in the integration tests. The
raw peer (`raw_kafka.py`) works on the same brokers, alternating with the operator.
"""

from __future__ import annotations

import argparse
import time

from declared import WALClusters
from raw_kafka import RawKafka, RawPasses
from report import Report, Result

from seawall_e2e.loopback import ApiServer, KafkaProcesses, OperatorProcess
from seawall_e2e.waiting import wait_until

BROKERS = 3
REPLICATION_FACTOR = 3
CREATIONS = 3
PASSES = 10
EDITS = 20
OBJECTS = 100
OBJECT_TOPICS = 3
SETTLE_SECONDS = 5.0
"""Between measurements; the brokers remove the files of deleted topics one second after their deletion."""


def main() -> None:
    """Measures and reports; a missed goal is no failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--topics", type=int, default=1_000)
    topics = parser.parse_args().topics
    report = Report(
        "topics",
        {
            "topics": topics,
            "replicationFactor": REPLICATION_FACTOR,
            "brokers": BROKERS,
            "repetitions": {"creations": CREATIONS, "passes": PASSES, "edits": EDITS},
            "operator": "python -m seawall run, default settings (resync 60 s), MALLOC_ARENA_MAX=2",
            "pass": "provoked by an annotation, so that the peer's passes and the operator's alternate",
        },
    )
    with (
        ApiServer() as server,
        KafkaProcesses(BROKERS, properties={"log.segment.delete.delay.ms": "1000"}) as brokers,
    ):
        kafka = RawKafka(",".join(brokers.bootstrap_servers))
        clusters = WALClusters(server, brokers.bootstrap_servers)
        with OperatorProcess(server.kubeconfig, is_forked=False) as operator:
            wait_until(operator.is_leader, "the operator leads", explain=operator.tail)
            report.results += creation(kafka, clusters, topics)
            with RawPasses(",".join(brokers.bootstrap_servers), LAST) as peer:
                report.results += idle_passes(operator, clusters, peer)
            report.results += memory(operator)
            report.results += reaction(clusters, LAST, f"1 object of {topics} topics")
            names = [f"small-{i}" for i in range(OBJECTS)]
            clusters.create(names, OBJECT_TOPICS, REPLICATION_FACTOR)
            what = f"{OBJECTS} objects of {OBJECT_TOPICS} topics beside it"
            report.results += reaction(clusters, names[OBJECTS // 2], what)
            report.results.append(Result(f"RSS with {what}", "MB", [operator.memory_megabytes("VmRSS")]))
    print(f"\n{report.table()}\nwritten to {report.write().relative_to(report.write().parents[2])}")


LAST = f"pool-{CREATIONS}"
"""The pool that stays for what is measured after the creations; it comes on top of the alternating ones."""


def creation(kafka: RawKafka, clusters: WALClusters, topics: int) -> list[Result]:
    """Raw and declared in turns, after one of each that warms up the brokers; never two pools at a time."""
    clusters.apply("pool-0", topics, REPLICATION_FACTOR)
    configs = kafka.configs("pool-0_0")
    remove(kafka, clusters, "pool-0")
    led, answered, declared = [], [], []
    for i in range(CREATIONS + 1):
        shown, done = kafka.create(f"raw-{i}", topics, REPLICATION_FACTOR, configs)
        kafka.delete(f"raw-{i}")
        time.sleep(SETTLE_SECONDS)
        if i == 0:
            continue
        name = f"pool-{i}"
        by_operator = clusters.apply(name, topics, REPLICATION_FACTOR)
        if name != LAST:
            remove(kafka, clusters, name)
        print(f"{topics} topics: raw {shown:.2f} s shown, {done:.2f} s done; declared {by_operator:.2f} s", flush=True)
        led.append(shown)
        answered.append(done)
        declared.append(by_operator)
    metric = f"kubectl apply to Ready, {topics} topics"
    return [
        Result(metric, "s", declared, "create_topics until every leader answers", answered, max_ratio=1.5),
        Result(metric, "s", declared, "create_topics until metadata shows every leader", led),
    ]


def remove(kafka: RawKafka, clusters: WALClusters, name: str) -> None:
    """Removes a pool with its topics."""
    clusters.delete(name)
    kafka.delete(name)
    time.sleep(SETTLE_SECONDS)


def idle_passes(operator: OperatorProcess, clusters: WALClusters, peer: RawPasses) -> list[Result]:
    """Passes with nothing to do, in turns with the peer's."""
    seconds, cpu, raw = [], [], []
    peer.run()  # connects
    for _ in range(PASSES):
        time.sleep(1)
        raw.append(peer.run())
        time.sleep(1)
        before = operator.idle_ticks()
        used = operator.cpu_seconds()
        clusters.poke(LAST)
        operator.wait_for_idle_ticks(1, since=before)
        after = operator.idle_ticks()
        count = after.count - before.count
        seconds.append((after.seconds - before.seconds) / count)
        cpu.append((operator.cpu_seconds() - used) / count)
    against = "list_topics and describe_configs"
    return [
        Result("pass with nothing to do", "s", seconds, against, [at[0] for at in raw], max_ratio=1.3),
        Result("CPU of such a pass", "s", cpu, against, [at[1] for at in raw], max_value=1),
    ]


def memory(operator: OperatorProcess) -> list[Result]:
    """Now and at most."""
    return [
        Result("RSS", "MB", [operator.memory_megabytes("VmRSS")], max_value=150),
        Result("peak RSS", "MB", [operator.memory_megabytes("VmHWM")], max_value=150),
    ]


def reaction(clusters: WALClusters, name: str, what: str) -> list[Result]:
    """Edits one after another."""
    seconds = []
    for _ in range(EDITS):
        seconds.append(clusters.edit(name))
        time.sleep(0.5)
    return [
        Result(f"edit to status, p50, {what}", "s", seconds, max_value=1),
        Result(f"edit to status, max, {what}", "s", [max(seconds)], max_value=1),
    ]


if __name__ == "__main__":
    main()
