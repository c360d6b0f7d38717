"""Datanodes for the tests of rolls: three pods, each with a region on a topic of its own and on one that all share."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from seawall.api.meta import Key
from seawall.domain.datanodes.checks import Candidate
from seawall.domain.datanodes.facts import Datanode, Facts, RegionFacts, TopicFacts
from seawall.domain.rollout.workload import Pod, StatefulSet, Template, Termination, UpdateStrategy

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
MI = 2**20
METASRV = "http://metasrv:4000"


def make_statefulset(**changes: Any) -> StatefulSet:
    found = StatefulSet(
        Key("db", "datanode"), "set-1", "7", 3, UpdateStrategy.ON_DELETE, 0, "rev-1", observed=True, template=Template()
    )
    return replace(found, **changes)


def make_pod(ordinal: int, **changes: Any) -> Pod:
    return replace(Pod(Key("db", f"datanode-{ordinal}"), f"uid-{ordinal}", ordinal, "rev-1", ready=True), **changes)


def make_topic(name: str, **changes: Any) -> TopicFacts:
    return replace(TopicFacts(name, 3, 3, 100), **changes)


def make_region(region: int, topic: str, **changes: Any) -> RegionFacts:
    found = RegionFacts(
        region=region, topic=topic, reads_from=200, entries=1_000, flushed_to=199, in_memory=True, leads=True
    )
    return replace(found, **changes)


def make_datanode(number: int, **changes: Any) -> Datanode:
    own = f"wal_{number}"
    found = Datanode(
        number,
        epoch=1,
        regions=(make_region(10 * number + 1, own), make_region(10 * number + 2, "wal_9")),
        topics=(make_topic(own), make_topic("wal_9")),
        entries=2_000 * (number + 1),
        size_bytes=100 * MI * (number + 1),
    )
    return replace(found, **changes)


def make_facts(**changes: Any) -> Facts:
    """Three healthy datanodes, of which the first has least to replay."""
    pods = tuple(make_pod(number) for number in range(3))
    datanodes = {f"datanode-{number}": make_datanode(number) for number in range(3)}
    found = Facts(NOW, (make_statefulset(),), pods, datanodes, metasrv=METASRV, in_maintenance=False)
    return replace(found, **changes)


def with_pod(facts: Facts, ordinal: int, **changes: Any) -> Facts:
    pods = tuple(replace(pod, **changes) if pod.ordinal == ordinal else pod for pod in facts.pods)
    return replace(facts, pods=pods)


def with_datanode(facts: Facts, number: int, **changes: Any) -> Facts:
    name = f"datanode-{number}"
    return replace(facts, datanodes={**facts.datanodes, name: replace(facts.datanodes[name], **changes)})


def with_topic(facts: Facts, number: int, **changes: Any) -> Facts:
    """Changes the own topic of a datanode."""
    first, *others = facts.datanodes[f"datanode-{number}"].topics
    return with_datanode(facts, number, topics=(replace(first, **changes), *others))


def with_region(facts: Facts, number: int, **changes: Any) -> Facts:
    """Changes the region of a datanode that is on its own topic."""
    first, *others = facts.datanodes[f"datanode-{number}"].regions
    return with_datanode(facts, number, regions=(replace(first, **changes), *others))


def ask(facts: Facts, number: int = 0) -> Candidate:
    return Candidate(f"datanode-{number}", facts)


KILLED = Termination("Error", "", 137)
