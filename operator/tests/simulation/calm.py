"""The end of a day: nobody edits, nothing goes wrong, and within a bounded time all is as declared, and stays so."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.partitions import NO_RATES
from tests.simulation.backups import why_unfinished
from tests.simulation.day import EVERY, Day
from tests.worlds.purge_world import NAMESPACE

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation

HEARTBEATS = {
    "replace_status WALSubscription/dr": 12,
    "replace_spec WALHold/dr": 1,
    "replace_status WALHold/dr": 1,
    "replace_status WALBackupPolicy/p": 1,
}
"""How often these may be written in that time: each half minute, each hour, and when a look of every five minutes finds
how much a hold keeps."""
NEGATIVE = frozenset({ConditionType.RECONCILING, ConditionType.STALLED})
STEP_SECONDS = 5.0
REST_WITHIN = 3_600.0
"""All must be as declared after this: a roll of three datanodes may wait for two deadlines of ten minutes."""
GRIEF_SECONDS = 690.0
"""What an adversary destroyed need not be as declared; but after this, which is two looks of every five minutes and
what comes of the second, nothing is written of it any more."""
SETTLES_SECONDS = 90.0
"""For so long it must be: a look may find a minute later what has changed."""
QUIET_SECONDS = 330.0
"""So long nothing may be written any more: longer than any period of a look."""


async def come_to_rest(sim: Simulation) -> None:
    """Heals everything, waits until all is as declared, and looks whether it stays so."""
    _heal(sim)
    within = GRIEF_SECONDS if sim.day.damaged_by else REST_WITHIN
    deadline = sim.now + within
    wrong, right_since = _wrong(sim), sim.now
    while (wrong or sim.now - right_since < SETTLES_SECONDS) and sim.now < deadline and not sim.is_over:
        await _pass(sim)
        wrong = _wrong(sim)
        right_since = sim.now if wrong else right_since
    if sim.is_over:
        return
    if wrong and not sim.day.damaged_by:
        sim.broke(f"C: it does not come to rest: {'; '.join(wrong)}")
        return
    sim.counts["seconds to rest"] = int(sim.now - (deadline - within))
    await _stay_at_rest(sim)


async def _stay_at_rest(sim: Simulation) -> None:
    until = sim.now + QUIET_SECONDS
    said = Counter(HEARTBEATS) + _ends_meanwhile(sim.day)
    sim.writes.clear()
    while sim.now < until and not sim.is_over:
        await _pass(sim)
    writes = _beyond(said, sim.writes)
    if writes and not sim.is_over:
        sim.broke(f"Q: {len(writes)} writes although all is at rest, such as {writes[-1]}")
    wrong = _wrong(sim)
    if wrong and not sim.day.damaged_by and not sim.is_over:
        sim.broke(f"C: it does not stay at rest: {'; '.join(wrong)}")


def _ends_meanwhile(day: Day) -> Counter[str]:
    """That a hold which nobody renews has expired is written once, and twice that a backup has that waited for it."""
    end = day.time.now() + timedelta(seconds=QUIET_SECONDS)
    holds = day.kube.list(WALHold, NAMESPACE).items
    ends = [each for each in holds if each.status.expire_time is not None and each.status.expire_time <= end]
    said = Counter(f"replace_status WALHold/{each.metadata.name}" for each in ends)
    backups = {each.metadata.uid: each.metadata.name for each in day.kube.list(WALBackup, NAMESPACE).items}
    for each in ends:
        if each.metadata.controller_uid in backups:
            name = backups[each.metadata.controller_uid]
            said += Counter({f"replace_status WALBackup/{name}": 2, f"delete WALHold/{each.metadata.name}": 1})
    return said


def _beyond(said: Mapping[str, int], writes: list[str]) -> list[str]:
    """Those that are more than is said at rest: numbers with their time, that a hold is needed, and that one ends."""
    left = dict(said)
    beyond: list[str] = []
    for write in writes:
        what = write.partition(": ")[2]
        left[what] = left.get(what, 0) - 1
        beyond += [write] if left[what] < 0 else []
    return beyond


async def _pass(sim: Simulation) -> None:
    sim._step()
    await asyncio.sleep(STEP_SECONDS)


def _heal(sim: Simulation) -> None:
    day = sim.day
    sim.log("*** all is calm from here on")
    sim.is_calm, sim.api_server_is_down = True, False
    sim.nemesis.calm()
    for process in sim.processes:
        process.clock.ahead, process.cut_off = timedelta(0), False
        sim.watch.list_all(process)
    sim.elect()
    for kafka in (day.kafka, day.mirror.target):
        kafka.offline, kafka.unreachable = set(), None
        kafka.late_topics = kafka.late_leaders = kafka.late_configs = kafka.late_deletes = kafka.moves.late = 0
        kafka.gone.clear()
    day.mirror.subscribe(suspend=False)
    day.backups.suspend()
    day.data_plane.is_silent = day.store.is_silent = False
    day.data_plane.busy.clear()
    day.data_plane.stopped &= set(day._phase)
    day.network.lead_back()
    day.dies = 0
    day.is_at_rest = True
    day.annotations = {
        name: value
        for name, value in day.annotations.items()
        if name not in {"seawall.dev/paused", "seawall.dev/stop-deletes", "seawall.dev/abort-reassignment"}
    }
    day.edit()
    day.referee.forbidden.clear()
    every = Key(NAMESPACE, "every")
    _tidy_holds(day)
    if ("WALPurgePolicy", every) in day.kube._objects:
        day.kube.apply(every, {**EVERY, "suspend": True}, kind=WALPurgePolicy)
    day.referee.moved()
    day.is_excused = False
    day.excuse()
    sim.watch.look()


def _tidy_holds(day: Day) -> None:
    """People let go what would end by itself meanwhile, and what can never be granted; they renew the rest."""
    for hold in day.kube.list(WALHold, NAMESPACE).items:
        key, spec = hold.metadata.key, day.kube._objects["WALHold", hold.metadata.key]["spec"]
        if not key.name.startswith("kept-"):
            continue
        if spec.get("ttl") == "2h" and hold.status.granted:
            day.renew(key)
        else:
            day.kube.remove(key, WALHold)


def _wrong(sim: Simulation) -> list[str]:
    """What is not as declared."""
    day = sim.day
    found = [*_wrong_objects(day), *_unfinished(day), *_wrong_kafka(day), *_wrong_pods(day), *_left_behind(day)]
    return [*found, *day.mirror.wrong(), *day.backups.wrong()]


def _wrong_objects(day: Day) -> list[str]:
    found: list[str] = []
    cluster = day.found_cluster()
    if cluster is None or isinstance(cluster.spec, InvalidSpec):
        return ["there is no WALCluster"]
    if find_condition(cluster.status.conditions, ConditionType.READY) is None:
        found.append("the WALCluster is not Ready")
    for condition in cluster.status.conditions:
        name = condition.type
        if name == ConditionType.DATA_PLANE_CONFIG_DIFFERS:
            continue  # nobody restarts the metasrv of this world
        wanted = "False" if name in NEGATIVE else "True"
        if condition.status != wanted:
            found.append(f"{name} is {condition.status}: {condition.reason}: {condition.message}")
    found += [
        f"the spec of {kind} {key.name} was not seen"
        for (kind, key), raw in day.kube._objects.items()
        if raw.get("status", {}).get("observedGeneration") != raw["metadata"]["generation"]
    ]
    return found


def _unfinished(day: Day) -> list[str]:
    """Runs, jobs and holds that are neither over nor as they want to be, and objects that go and do not."""
    found = [
        f"WALPurge {run.metadata.name} is at {run.status.stage}"
        for run in day.kube.list(WALPurge).items
        if not run.status.is_finished
    ]
    found += [
        f"WALVerification {check.metadata.name} {why}"
        for check in day.kube.list(WALVerification).items
        if (why := why_unfinished(check.status)) is not None
    ]
    found += [
        f"WALHold {hold.metadata.name} is {hold.status.state}"
        for hold in day.kube.list(WALHold).items
        if hold.status.state in {None, "Requested"}
    ]
    found += [
        f"{kind} {key.name} goes and does not"
        for (kind, key), raw in day.kube._objects.items()
        if "deletionTimestamp" in raw["metadata"]
    ]
    return found


def _wrong_kafka(day: Day) -> list[str]:
    spec, kafka = day.cluster_spec["topics"], day.kafka
    found = [f"topic {name} is missing" for name in day.topics_of_pool() if name not in kafka.topics]
    wanted = spec.get("replicationFactor", 3)
    for name in day.topics_of_pool():
        topic = kafka.topics.get(name)
        if topic is None:
            continue
        if len(topic.replicas) != wanted:
            found.append(f"{name} has replicas {topic.replicas}")
        if topic.configs.get("min.insync.replicas") != str(max(1, wanted - 1)):
            found.append(f"{name} has min.insync.replicas {topic.configs.get('min.insync.replicas')}")
        found += [f"{name} is throttled" for key in topic.configs if "throttled" in key]
    if kafka.moves.ongoing:
        found.append(f"replicas are on their way: {sorted(map(str, kafka.moves.ongoing))}")
    if kafka.moves.rates != NO_RATES:
        found.append("a throttle is left")
    return found


def _wrong_pods(day: Day) -> list[str]:
    (statefulset,) = day.datanodes.statefulsets.values()
    found = [f"{name} is down" for name in day.down()]
    found += [
        f"{pod.name} runs an old template"
        for pod in day.datanodes.running.values()
        if pod.config_hash != statefulset.template.config_hash
    ]
    found += [f"{name} is in maintenance" for name in sorted(day.in_maintenance())]
    return found


def _left_behind(day: Day) -> list[str]:
    """Finalizers, jobs and holds of what is over."""
    found = [
        f"{kind} {key.name} has finalizers {raw['metadata']['finalizers']}"
        for (kind, key), raw in day.kube._objects.items()
        if raw["metadata"].get("finalizers")
    ]
    over = {each.metadata.uid for each in day.kube.list(WALVerification).items if each.status.is_over}
    found += [
        f"hold {key.name} outlives its job"
        for (kind, key), raw in day.kube._objects.items()
        if kind == "WALHold" and any(each["uid"] in over for each in raw["metadata"].get("ownerReferences", ()))
    ]
    found += [
        f"SparkApplication {key.name} is {application.state or 'not begun'}"
        for key, application in day.spark.applications.items()
        if application.state not in {"COMPLETED", "FAILED"} and not day.mirror.is_own(key)
    ]
    return found
