"""The moves that only some scenarios have."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.spark_job.request import FILE, Subject
from seawall.domain.spark_job.selection import TopicRange
from seawall.domain.verification.contract import write_request
from tests.adversary import people_moves as people
from tests.adversary import world_moves as world
from tests.adversary.arena import Arena
from tests.adversary.lives import ALL
from tests.adversary.moves import CLUSTER, POLICY, RUN, move
from tests.adversary.roll import RollArena
from tests.adversary.world_moves import TOPIC, region_comes_back, region_of
from tests.fakes.dataplane import settings
from tests.worlds.purge_world import NAMESPACE, REGIONS, TOPICS, WAL
from tests.worlds.verification_world import CHECK, KAFKA

VERIFICATION = "kube:WALVerification"


def retract(arena: Arena) -> None:
    """What was given up is needed again, as far as it is there."""
    arena.annotate(purge_unused_topics=None, dead_regions=None)
    arena.referee.unlicensed[TOPIC] = "the declaration was taken back"
    region = region_of(TOPIC, REGIONS - 1)
    arena.referee.written_off -= {need for need in arena.referee.written_off if need[:2] == ("prod", region)}


def retract_and_come_back(arena: Arena) -> None:
    retract(arena)
    region_comes_back(arena)
    arena.data_plane.datanodes = 10


def dead_comes_back(arena: Arena) -> None:
    """Without a word; the declaration still stands."""
    arena.data_plane.datanodes = 10


def declare_again(arena: Arena) -> None:
    """The word is edited: it ends in a minute."""
    soon = (arena.time.true() + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in ("purge-unused-topics", "dead-regions"):
        if f"seawall.dev/{name}" in arena.annotations:
            said = arena.annotations[f"seawall.dev/{name}"].partition("@")[0]
            arena.annotate(**{name.replace("-", "_"): f"{said}@{soon}"})


def runs_older_version(arena: Arena) -> None:
    """A datanode is rolled back to a version that opens regions without the marker; the spec declares the newer one."""
    arena.data_plane.versions[1] = "1.0.2"
    people.forbid(arena, "a datanode is too old", "delete_records", "advance_markers")


FROM_ITS_START = "a follower reads from its start"


def standby_is_back(arena: Arena) -> None:
    """A standby that was away for long is listed again: it has read nothing that is still in the log."""
    region, start = region_of(TOPIC), arena.log_starts().get(TOPIC, 0)
    if region not in arena.store._now.routes:
        return
    arena.data_plane.followers[region, 2] = max(start - 1, 0)
    arena.store.put_followers(region, 2)
    arena.referee.unlicensed[TOPIC] = FROM_ITS_START


def deletes_by_itself(arena: Arena) -> None:
    """The metasrv starts anew, or another one leads, and it deletes records; the spec declares that it does not."""
    arena.data_plane.wal = settings("Physical")
    people.forbid(arena, "the database deletes by itself", "delete_records", "advance_markers")


def empty_etcd(arena: Arena) -> None:
    """The same store has lost all that the database wrote of its tables there, and the database serves on."""
    nothing: Any = {}
    arena.store._now = replace(
        arena.store._now,
        topics=nothing,
        region_keys=nothing,
        wal_topics=nothing,
        tombstoned_topics=nothing,
        routes=nothing,
    )
    people.forbid(arena, "nobody knows which regions write to which topic", "delete_records")


def topics_of_others(arena: Arena) -> None:
    """The topics were deleted by hand and made anew since; a database that nobody declared writes to them."""
    conflicting_owner = arena.network.databases["rival"]
    for topic in TOPICS:
        arena.kafka.topics.pop(topic, None)
        arena.kafka.add_topic(topic, replicas=(1, 2, 3)).log.now = arena.time.true
        for region in conflicting_owner.regions_of(topic):
            conflicting_owner.bear(topic, region, conflicting_owner.plane.regions[region].datanode)
        conflicting_owner.write(topic, 2 * REGIONS)


def forge_request(arena: Arena) -> None:
    """Somebody who may write ConfigMaps asks for the last record only."""
    found = arena.kube.get(WALVerification, CHECK)
    if found is None or found.status.is_over or isinstance(found.spec, InvalidSpec):
        return
    ranges = tuple(
        TopicRange(name, topic.log.topic_id, topic.log.log_start, topic.log.end - 1, topic.log.end, ())
        for name, topic in sorted(arena.kafka.topics.items())
    )
    data = write_request(
        Subject(NAMESPACE, CHECK.name, found.metadata.uid, 1),
        found.spec,
        KAFKA,
        "fake-cluster",
        ranges,
        database_version="1.1",
    )
    key, maps = Key(NAMESPACE, f"{CHECK.name}-1"), arena.kube._config_maps
    forged = maps.get(key) or ConfigMap(key, {}, found.metadata.uid, "forged", is_immutable=True)
    maps[key] = replace(forged, binary_data=MappingProxyType({FILE: data}))


def forge_verdict(arena: Arena) -> None:
    """A job tells of another request."""
    arena.forged_verdict = True


def ask_for_own_code(arena: Arena) -> None:
    """Somebody who may write WALVerifications, past an older CRD, which lets code and account through."""
    raw = arena.kube._objects.get(("WALVerification", CHECK))
    arena.spark.service_accounts.add(Key(NAMESPACE, "seawall"))
    if raw is not None:
        spark = {"image": "other/x:1", "serviceAccountName": "seawall"}
        arena.kube.apply(CHECK, {**raw["spec"], "spark": spark}, kind=WALVerification)


def declare_other_code(arena: Arena) -> None:
    """The owner of the WALCluster has verifications run another image."""
    arena.edit(verification={"spark": {"image": "replay-verification:2"}})


def restore_terminating(arena: Arena) -> None:
    """After all was deleted and made anew by others, the WALCluster comes back from a backup as it was: Terminating."""
    topics_of_others(arena)
    world.restore_api_server(arena)


def ask_again(arena: Arena) -> None:
    arena.annotate(restart="tuesday")


def take_back(arena: Arena) -> None:
    arena.annotate(restart=None)


def pod_goes(arena: Arena) -> None:
    """By whomever, if all others serve."""
    if isinstance(arena, RollArena) and not arena.down():
        arena.datanodes.evict(arena.datanodes.running[Key(NAMESPACE, "datanode-1")])
        arena.note()


def second_restarter(arena: Arena) -> None:
    """Another process takes over while this one is frozen."""
    if isinstance(arena, RollArena):
        process = arena.restarter(arena.referee)
        for _ in range(6):
            for _ in range(4):
                process.tick(WAL)
                arena.note()
            arena.wait()


def forget_the_roll(arena: Arena) -> None:
    """The API server is restored from a backup of before the roll; what runs does, and databases, go on."""
    world.restore_api_server(arena)
    if isinstance(arena, RollArena):
        arena.has_forgotten = True


def delete_verification(arena: Arena) -> None:
    if ("WALVerification", CHECK) in arena.kube._objects:
        arena.kube.remove(CHECK, WALVerification)


def recreate_verification(arena: Arena) -> None:
    raw = arena.kube._objects.pop(("WALVerification", CHECK), None)
    if raw is not None:
        arena.kube.apply(CHECK, raw["spec"], kind=WALVerification)


OF_RUNS = (
    *(move(make, POLICY) for make in (people.stricter_policy, people.unreadable_policy)),
    *(move(make, RUN) for make in (people.pause_run, people.delete_run, people.recreate_run)),
    move(people.declare_old_version, CLUSTER),
    move(runs_older_version, "database", shown_by="nodes", is_evidence=True),
    move(standby_is_back, "database", "etcd", shown_by="reports", is_evidence=True),
    move(deletes_by_itself, "settings"),
    move(empty_etcd, "etcd", shown_by="snapshot", is_evidence=True),
    move(world.delete_intents_and_grant, ALL, shown_by="intents"),
    move(world.restore_api_server, ALL, shown_by="intents"),
    move(world.second_operator, ALL),
    move(world.second_operator_begins, ALL),
)
OF_DECLARATIONS = (
    *(move(make, CLUSTER) for make in (retract, declare_again)),
    move(retract_and_come_back, CLUSTER, "database", "etcd", "kafka", shown_by=CLUSTER),
)
OF_DEAD = (move(dead_comes_back, "database"),)
OF_DELETIONS = (
    move(people.retain, CLUSTER),
    move(topics_of_others, "database", "etcd", "kafka", shown_by="kafka"),
    move(restore_terminating, ALL, shown_by="kafka"),
    move(world.restore_api_server, ALL, shown_by="intents"),
)
OF_ROLLS = (
    move(ask_again, CLUSTER),
    move(take_back, CLUSTER),
    move(pod_goes, "pods"),
    move(second_restarter, ALL),
    move(forget_the_roll, ALL),
)
OF_VERIFICATIONS = (
    move(forge_request, VERIFICATION, "kube:ConfigMap"),
    move(forge_verdict, "spark"),
    move(ask_for_own_code, VERIFICATION),
    move(declare_other_code, CLUSTER),
    *(move(make, VERIFICATION) for make in (delete_verification, recreate_verification)),
)
