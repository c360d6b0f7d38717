"""Many WALClusters in one operator, and one WALCluster with a database: what they cost while nothing happens.

The operator, the API server and the brokers are processes of their own on loopback; the database is what an operator
sees of one (`purge_database.py`). The peer is confluent-kafka in a process of its own, which reads the metadata and the
configs of the same topics (`raw_kafka.py`) as often as the operator has to: once a minute for each WALCluster.

CPU seconds come from `/proc`, so other work on the cores changes them little. Seconds from an edit to its status are
those of a clock on the wall, and grow with the load.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from beds import Beds
from declared import WALClusters
from jumping_clock import JumpingClock
from purge_database import REGIONS, Database
from raw_kafka import RawPasses
from report import Result
from sizes import Sizes

from seawall_e2e.loopback import OperatorProcess
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.waiting import wait_until

BROKERS = 3
RESYNC_SECONDS = 60
LOOK_SECONDS = 10
"""Between two looks at a database whose policies let reports be as old as by default."""
ONE = "bench-one"
PEER = "a pass by list_topics and describe_configs each minute for each WALCluster"


@dataclass(frozen=True, slots=True)
class Size:
    """WALClusters with so many topics each, of the one with a database, and how long nothing happens in each sample.

    `settle` are seconds until what follows a creation is over, `wait` until all WALClusters are Ready.
    """

    clusters: int = 200
    topics: int = 64
    one: int = 128
    samples: int = 2
    seconds: float = 30.0
    edits: int = 60
    passes: int = 5
    settle: float = 30.0
    wait: float = 1200.0


SIZES = Sizes("fleet", __doc__, Size(), Size(4, 3, 4, 1, 0.5, 2, 1, 0.1, 60.0))


@dataclass(frozen=True, slots=True)
class Fleet:
    """Who works on the same brokers: the raw peer, and the operator by what is declared."""

    size: Size
    servers: str
    clusters: WALClusters
    operator: OperatorProcess

    def idle_percent(self) -> float:
        """CPU of the operator while nothing happens, in percent of a core."""
        began, used = time.monotonic(), self.operator.cpu_seconds()
        time.sleep(self.size.seconds)
        return (self.operator.cpu_seconds() - used) / (time.monotonic() - began) * 100

    def passes(self, prefix: str, count: int) -> list[float]:
        """CPU seconds of the peer's passes."""
        with RawPasses(self.servers, prefix, count) as peer:
            peer.run()  # connects
            return [peer.run()[1] for _ in range(self.size.passes)]


class CountingDatabase(Database):
    """Counts how often the operator looks at it."""

    looks = 0

    def heartbeats(self) -> Any:
        """The newest of each datanode."""
        self.looks += 1
        return super().heartbeats()


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports; a missed goal is no failure."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report(
        {
            "replicationFactor": 1,
            "brokers": BROKERS,
            "operator": f"python -m seawall run, default settings (resync {RESYNC_SECONDS} s), MALLOC_ARENA_MAX=2",
            "regions": REGIONS * run.size.one,
        },
    )
    with beds.api_server() as server, beds.brokers(BROKERS) as brokers, beds.etcd() as etcd:
        clusters = WALClusters(server, brokers.bootstrap_servers)
        scope = clusters.namespace
        with OperatorProcess(server.kubeconfig, is_forked=False, namespaces=scope, pod_namespace=scope) as operator:
            wait_until(operator.is_leader, "the operator leads", explain=operator.tail)
            fleet = Fleet(run.size, ",".join(brokers.bootstrap_servers), clusters, operator)
            report.results += with_database(fleet, etcd)
            report.results += many(fleet)
            report.results += edits(fleet)
    run.finish(report)


def with_database(fleet: Fleet, etcd: EtcdProcess) -> list[Result]:
    """One WALCluster, without its database and with it; it is deleted then, and its topics stay."""
    size, what = fleet.size, f"1 WALCluster of {fleet.size.one} topics"
    fleet.clusters.apply(ONE, size.one, 1)
    time.sleep(size.settle)
    against, passes = "the same once a minute", fleet.passes(ONE, size.one)
    raw = [each / RESYNC_SECONDS * 100 for each in passes]
    bare = [fleet.idle_percent() for _ in range(size.samples)]
    with CountingDatabase(etcd, [f"{ONE}_{i}" for i in range(size.one)], JumpingClock()) as database:
        fleet.clusters.patch(ONE, {"spec": {"dataPlane": {"greptimedb": greptimedb(database)}}})
        fleet.clusters.wait(_is_reachable, ONE, size.wait)
        time.sleep(size.settle)
        before = database.looks
        percents = [fleet.idle_percent() for _ in range(size.samples)]
        looks = database.looks - before
    if looks < int(size.samples * size.seconds / LOOK_SECONDS * 0.8):
        raise RuntimeError(f"the operator looked at the database {looks} times only")
    rss = fleet.operator.memory_megabytes("VmRSS")
    fleet.clusters.delete(ONE)
    looked = f"its database looked at every {LOOK_SECONDS} s"
    return [
        Result(f"idle CPU, {what}", "% of a core", bare, f"list_topics and describe_configs, {against}", raw),
        Result(f"idle CPU, {what}, {looked}", "% of a core", percents, max_value=2),
        Result(f"RSS, {what} and their database", "MB", [rss]),
    ]


def many(fleet: Fleet) -> list[Result]:
    """The fleet at three sizes, all WALClusters on the same Kafka with the same credentials."""
    size, results, made = fleet.size, list[Result](), 0
    memory: dict[int, float] = {}
    for count in (size.clusters // 4, size.clusters // 2, size.clusters):
        fleet.clusters.create(names(made, count), size.topics, 1, seconds=size.wait)
        made = count
        time.sleep(size.settle)
        whole = count == size.clusters
        percents = [fleet.idle_percent() for _ in range(size.samples if whole else 1)]
        raw = [each * count / RESYNC_SECONDS * 100 for each in fleet.passes(names(0, 1)[0], size.topics)]
        memory[count] = fleet.operator.memory_megabytes("VmRSS")
        print(f"{count} WALClusters: {statistics.median(percents):.1f} % of a core, {memory[count]:.0f} MB", flush=True)
        what, limits = f"{count:,} WALClusters of {size.topics} topics", (20, 250) if whole else (None, None)
        results += [
            Result(f"idle CPU, {what}", "% of a core", percents, PEER, raw, max_value=limits[0]),
            Result(f"RSS, {what}", "MB", [memory[count]], max_value=limits[1]),
        ]
    least, most = min(memory), max(memory)
    each = (memory[most] - memory[least]) / (most - least)
    return [*results, Result(f"RSS of each WALCluster beyond {least}", "MB", [each], max_value=0.3)]


def edits(fleet: Fleet) -> list[Result]:
    """Edits of one WALCluster after another, until a watch sees the status that was computed from it."""
    chosen = names(0, fleet.size.clusters)
    seconds = sorted(fleet.clusters.edit(chosen[i % len(chosen)]) for i in range(fleet.size.edits))
    what = f"{len(chosen)} WALClusters of {fleet.size.topics} topics"
    p99 = seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))]
    return [
        Result(f"edit to status, p50, {what}", "s", seconds),
        Result(f"edit to status, p99, {what}", "s", [p99], max_value=2),
    ]


def names(start: int, stop: int) -> list[str]:
    """Of WALClusters, which are also the prefixes of their topics; none is the start of another."""
    return [f"bench-fleet-{number:03}" for number in range(start, stop)]


def greptimedb(database: Database) -> dict[str, Any]:
    """What a WALCluster says of its database."""
    return {
        "version": "1.1",
        "autoPrune": "Disabled",
        "metasrv": database.url,
        "frontend": database.url,
        "metadataStore": {"etcd": {"endpoints": [database.etcd_url], "prefix": database.prefix}},
    }


def _is_reachable(found: dict[str, Any]) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(at["type"] == "DataPlaneReachable" and at["status"] == "True" for at in conditions)


if __name__ == "__main__":
    main()
