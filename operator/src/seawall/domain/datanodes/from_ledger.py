"""The facts about datanodes, from the newest look at the ledger, Kafka's topics and the pods' addresses.

The regions of a datanode are those whose route names it. Those that a person declared dead are not among them: nobody
replays them. A report that is stale, or was not seen to advance since the operator began, says nothing good.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from seawall.domain.datanodes.facts import Datanode, Memtable, RegionFacts, TopicFacts
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import RegionRole
from seawall.domain.kafka import Topic
from seawall.domain.ledger import offsets
from seawall.domain.ledger.ledger import Ledger
from seawall.domain.ledger.read import Read
from seawall.domain.ledger.replay import replay_by_datanode, replay_by_region
from seawall.domain.rollout.workload import Pod


@dataclass(frozen=True, slots=True)
class Sources:
    """What the facts are made from.

    Attributes:
        ledger: of the newest look, and `read` what it was made from.
        topics: Kafka's topics, as its metadata shows them.
        moving: topics of which a partition is being reassigned, by whomever.
        cut: topics of which a run that is not over deletes records now.
    """

    ledger: Ledger
    read: Read
    topics: Mapping[str, Topic]
    moving: Collection[str] = frozenset()
    cut: Collection[str] = frozenset()


def datanodes_by_id(sources: Sources) -> dict[int, Datanode]:
    """Every datanode that the metadata or a route names."""
    ledger = sources.ledger
    regions = _regions(sources, ledger)
    without_topic = _without_topic(sources, {number for number, mine in regions.items() if any(r.leads for r in mine)})
    costs = {cost.datanode: cost for cost in replay_by_datanode(ledger)}
    ids = {*sources.read.snapshot.datanodes, *regions, *without_topic}
    found: dict[int, Datanode] = {}
    for number in sorted(ids):
        mine, cost = tuple(regions.get(number, ())), costs.get(number)
        is_known = all(region.reads_from is not None for region in mine)
        nothing = None if mine else 0
        found[number] = Datanode(
            id=number,
            epoch=sources.read.processes.get(number),
            regions=mine,
            topics=tuple(_topic(sources, ledger, name) for name in sorted({region.topic for region in mine})),
            entries=cost.entries if cost is not None and is_known else nothing,
            size_bytes=cost.size_bytes if cost is not None and is_known else nothing,
            without_topic=tuple(without_topic.get(number, ())),
        )
    return found


def _regions(sources: Sources, ledger: Ledger) -> dict[int, list[RegionFacts]]:
    """By datanode the regions whose route names it."""
    case = ledger.case
    flushed, unlogged = offsets.flushed_to(case.regions), _may_lack_log(sources)
    in_memory = RegionReports.of(sources.read.reports).bytes_in_memory_by_datanode
    found: dict[int, list[RegionFacts]] = {}
    for row, name in enumerate(ledger.topics.names):
        first, last = np.searchsorted(case.regions.topic, [row, row + 1])
        for at, replay in zip(range(int(first), int(last)), replay_by_region(ledger, row), strict=True):
            if replay.datanode is None:
                continue
            leads = (
                case.regions.epoch.at(at) is not None and not case.regions.opening[at] and not case.freshness.stale[at]
            )
            size = in_memory.get((replay.region, replay.datanode), 0)
            region = RegionFacts(
                region=replay.region,
                topic=name,
                reads_from=replay.reads_from,
                entries=replay.entries,
                flushed_to=flushed.at(at),
                in_memory=size > 0,
                leads=bool(leads),
                unlogged_bytes=size if replay.region in unlogged else None,
            )
            found.setdefault(replay.datanode, []).append(region)
    return found


def _may_lack_log(sources: Sources) -> frozenset[int]:
    """The regions that may have rows in memory that are in no log."""
    return sources.read.snapshot.unlogged | sources.read.snapshot.logged_again


def _without_topic(sources: Sources, reporting: Collection[int]) -> dict[int, list[Memtable]]:
    """By datanode the regions whose rows are in no log and never were, with rows in memory.

    The ledger, which is of topics, has no row for them. How new a report is, other regions of its datanode say
    (`reporting`: those of which one leads).
    """
    unlogged = _may_lack_log(sources) & sources.read.snapshot.without_topic
    if not unlogged:
        return {}  # as nearly always, and there may be a million regions
    routes, found = sources.read.snapshot.routes, dict[int, list[Memtable]]()
    for report in RegionReports.of(sources.read.reports).of_regions(unlogged).with_rows_in_memory:
        route, datanode, size = routes.get(report.region_id), report.datanode_id, report.memtable_bytes
        if route is None or route.leader != datanode:
            continue
        leads = datanode in reporting and report.role is RegionRole.LEADER
        flushed = report.data.flushed_entry_id
        memtable = Memtable(
            region=report.region_id, flushed_to=flushed, in_memory=True, leads=leads, unlogged_bytes=size
        )
        found.setdefault(datanode, []).append(memtable)
    return found


def _topic(sources: Sources, ledger: Ledger, name: str) -> TopicFacts:
    topic = sources.topics.get(name)
    return TopicFacts(
        name=name,
        replicas=0 if topic is None else len(topic.replicas),
        in_sync=0 if topic is None else len(topic.isr),
        log_start=ledger.topics.log_start.at(ledger.topics.names.index(name)),
        is_moving=name in sources.moving,
        is_cut=name in sources.cut,
    )


def datanodes_of_pods(
    pods: Iterable[Pod], addresses: Mapping[int, str], remembered: Mapping[str, int] | None = None
) -> dict[str, int]:
    """By the name of the pod the id of its datanode; a pod whose datanode nobody can tell is left out.

    A datanode tells its address when it starts: the pod's IP, or a name whose first label is the pod's. A pod that was
    made anew and has not told yet is the datanode that it was before: its id is of its volume, or of its ordinal. An IP
    that says another one than before may be that of a pod that died: then nothing is known until that is forgotten.

    Args:
        pods: of the StatefulSet.
        addresses: by datanode, as the metadata have them (`host:port`); one that is dead keeps its last one.
        remembered: by the name of the pod, what was found before.
    """
    by_host: dict[str, set[int]] = {}
    by_label: dict[str, set[int]] = {}
    for number, address in addresses.items():
        host = _host(address)
        by_host.setdefault(host, set()).add(number)
        by_label.setdefault(host.partition(".")[0], set()).add(number)
    known = remembered or {}
    found: dict[str, int] = {}
    for pod in pods:
        by_ip = set[int]() if pod.address is None else by_host.get(pod.address, set())
        reported = (
            by_label.get(pod.name) or by_ip & {known[pod.name]} if pod.name in known else by_label.get(pod.name, by_ip)
        )
        if len(reported) == 1:
            found[pod.name] = next(iter(reported))
        elif not reported and not by_ip and pod.name in known:
            found[pod.name] = known[pod.name]
    counts = Counter(found.values())
    return {name: number for name, number in found.items() if counts[number] == 1}


def _host(address: str) -> str:
    host, colon, _ = address.rpartition(":")
    return (host if colon else address).strip("[]")
