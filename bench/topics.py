"""The topic pool at 1,000 topics: apply → Ready, a pass with nothing to do, memory, reaction to an edit.

The operator, the API server and the brokers are processes of their own on loopback, as in the integration tests. The
raw peer (`raw_kafka.py`) works on the same brokers, alternating with the operator.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from beds import Beds
from declared import WALClusters
from raw_kafka import RawKafka, RawPasses
from report import Result
from sizes import Sizes

from seawall_e2e.loopback import OperatorProcess
from seawall_e2e.waiting import wait_until

BROKERS = 3
REPLICATION_FACTOR = 3
OBJECT_TOPICS = 3


@dataclass(frozen=True, slots=True)
class Size:
    """Topics of the pool, samples of each kind, small objects beside it.

    `settle` and `pause` are seconds: between creations (brokers remove the files of deleted topics one second after
    their deletion), and between passes and edits.
    """

    topics: int = 1_000
    creations: int = 5
    passes: int = 10
    edits: int = 20
    objects: int = 100
    settle: float = 5.0
    pause: float = 1.0


SIZES = Sizes("topics", __doc__, Size(), Size(12, 1, 2, 2, 2, settle=0.5, pause=0.1))


@dataclass(frozen=True, slots=True)
class Topics:
    """Who works on the same brokers: the raw peer, and the operator by what is declared."""

    size: Size
    raw: RawKafka
    clusters: WALClusters
    operator: OperatorProcess

    @property
    def last(self) -> str:
        """The pool that stays for what is measured after the creations; it comes on top of the alternating ones."""
        return pool(self.size.creations)

    def remove(self, name: str) -> None:
        """Removes a pool with its topics."""
        self.clusters.delete(name)
        self.raw.delete(name)
        time.sleep(self.size.settle)


def pool(number: int) -> str:
    """The name of a WALCluster, and the prefix of its topics."""
    return f"bench-pool-{number}"


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report(
        {
            "replicationFactor": REPLICATION_FACTOR,
            "brokers": BROKERS,
            "operator": "python -m seawall run, default settings (resync 60 s), MALLOC_ARENA_MAX=2",
            "pass": "provoked by an annotation, so that the peer's passes and the operator's alternate",
        },
    )
    soon = {"log.segment.delete.delay.ms": "1000"}
    with beds.api_server() as server, beds.brokers(BROKERS, soon) as brokers:
        servers = ",".join(brokers.bootstrap_servers)
        clusters = WALClusters(server, brokers.bootstrap_servers)
        scope = clusters.namespace
        with OperatorProcess(server.kubeconfig, is_forked=False, namespaces=scope, pod_namespace=scope) as operator:
            wait_until(operator.is_leader, "the operator leads", explain=operator.tail)
            topics = Topics(run.size, RawKafka(servers), clusters, operator)
            report.results += creation(topics)
            with RawPasses(servers, topics.last, run.size.topics) as peer:
                report.results += idle_passes(topics, peer)
            report.results += memory(operator)
            report.results += reaction(topics, topics.last, f"1 object of {run.size.topics} topics")
            report.results += reaction_beside_others(topics)
    run.finish(report)


def creation(topics: Topics) -> list[Result]:
    """Raw and declared in turns, after one of each that warms up the brokers; never two pools at a time."""
    size, raw = topics.size, topics.raw
    topics.clusters.apply(pool(0), size.topics, REPLICATION_FACTOR)
    configs = raw.configs(f"{pool(0)}_0")
    topics.remove(pool(0))
    led, answered, declared = [], [], []
    for i in range(size.creations + 1):
        shown, done = create_raw(raw, f"bench-raw-{i}", size, configs)
        time.sleep(size.settle)
        if i == 0:
            continue
        by_operator = topics.clusters.apply(pool(i), size.topics, REPLICATION_FACTOR)
        if pool(i) != topics.last:
            topics.remove(pool(i))
        print(
            f"{size.topics} topics: raw {shown:.2f} s shown, {done:.2f} s done; declared {by_operator:.2f} s",
            flush=True,
        )
        led.append(shown)
        answered.append(done)
        declared.append(by_operator)
    metric = f"kubectl apply to Ready, {size.topics} topics"
    return [
        Result(metric, "s", declared, "create_topics until every leader answers", answered, max_ratio=1.5),
        Result(metric, "s", declared, "create_topics until metadata shows every leader", led),
    ]


def create_raw(raw: RawKafka, prefix: str, size: Size, configs: dict[str, str]) -> tuple[float, float]:
    """What the peer takes for topics with the configs that the operator gives its own; they are gone afterwards."""
    took = raw.create(prefix, size.topics, REPLICATION_FACTOR, configs)
    if not configs or (made := raw.configs(f"{prefix}_{size.topics - 1}")) != configs:
        raise RuntimeError(f"the peer made topics with other configs: {made if configs else 'none'}, not {configs}")
    raw.delete(prefix)
    return took


def idle_passes(topics: Topics, peer: RawPasses) -> list[Result]:
    """Passes with nothing to do, in turns with the peer's."""
    operator, seconds, cpu, raw = topics.operator, [], [], []
    peer.run()  # connects
    for _ in range(topics.size.passes):
        time.sleep(topics.size.pause)
        raw.append(peer.run())
        time.sleep(topics.size.pause)
        before = operator.idle_ticks()
        used = operator.cpu_seconds()
        topics.clusters.poke(topics.last)
        operator.wait_for_idle_ticks(1, since=before)
        after = operator.idle_ticks()
        count = after.count - before.count
        seconds.append((after.seconds - before.seconds) / count)
        cpu.append((operator.cpu_seconds() - used) / count)
    against = "list_topics and describe_configs"
    return [
        Result("pass with nothing to do", "s", seconds, against, [at[0] for at in raw], max_ratio=1.2),
        Result("CPU of such a pass", "s", cpu, against, [at[1] for at in raw], max_value=0.3),
    ]


def memory(operator: OperatorProcess) -> list[Result]:
    """Now and at most."""
    return [
        Result("RSS", "MB", [operator.memory_megabytes("VmRSS")], max_value=120),
        Result("peak RSS", "MB", [operator.memory_megabytes("VmHWM")], max_value=120),
    ]


def reaction(topics: Topics, name: str, what: str) -> list[Result]:
    """Edits one after another."""
    seconds = []
    for _ in range(topics.size.edits):
        seconds.append(topics.clusters.edit(name))
        time.sleep(topics.size.pause / 2)
    return [
        Result(f"edit to status, p50, {what}", "s", seconds, max_value=1),
        Result(f"edit to status, max, {what}", "s", [max(seconds)], max_value=1),
    ]


def reaction_beside_others(topics: Topics) -> list[Result]:
    """The same with many small objects, one of which is edited, and what they take of memory."""
    names = [f"bench-small-{i}" for i in range(topics.size.objects)]
    before = topics.operator.memory_megabytes("VmRSS")
    topics.clusters.create(names, OBJECT_TOPICS, REPLICATION_FACTOR)
    what = f"{len(names)} objects of {OBJECT_TOPICS} topics beside it"
    edits = reaction(topics, names[len(names) // 2], what)
    after = topics.operator.memory_megabytes("VmRSS")
    each = (after - before) / len(names)
    return [
        *edits,
        Result(f"RSS with {what}", "MB", [after]),
        Result("RSS of each of them", "MB", [each], max_value=0.3),
    ]


if __name__ == "__main__":
    main()
