"""What people do on a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.verification import WALVerification
from tests.adversary import people_moves
from tests.adversary.world_moves import region_of
from tests.simulation.day import SAFETY, Day
from tests.worlds.purge_world import NAMESPACE, REGIONS, TOPICS
from tests.worlds.restart_world import DATANODES

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation


def _topic(day: Day, number: int) -> str | None:
    """One of those that the database knows; None: whoever restored its metadata left none."""
    names = sorted(day.prod.store._now.topics)
    return names[number % len(names)] if names else None


def stop_deletes(sim: Simulation, number: int) -> None:
    people_moves.stop_deletes(sim.day)
    sim.later(60 + number % 400, "allow_deletes")


def allow_deletes(sim: Simulation, _: int) -> None:
    sim.day.annotate(stop_deletes=None)
    _allow(sim, "seawall.dev/stop-deletes is set")


def pause(sim: Simulation, number: int) -> None:
    people_moves.pause(sim.day)
    sim.later(30 + number % 300, "go_on")


def go_on(sim: Simulation, _: int) -> None:
    sim.day.annotate(paused=None)
    _allow(sim, "the WALCluster is paused")


def _allow(sim: Simulation, why: str) -> None:
    """The ban ends, unless there is another one."""
    others = {
        "seawall.dev/stop-deletes": "seawall.dev/stop-deletes is set",
        "seawall.dev/paused": "the WALCluster is paused",
    }
    sim.day.referee.forbidden = {call: w for call, w in sim.day.referee.forbidden.items() if w != why}
    for annotation, other in others.items():
        if annotation in sim.day.annotations:
            people_moves.forbid(sim.day, other)


def edit_bytes(sim: Simulation, number: int) -> None:
    day = sim.day
    day.edit(topics={**day.cluster_spec["topics"], "maxMessageBytes": f"{1 + number % 3}Mi"})


def edit_replicas(sim: Simulation, number: int) -> None:
    day = sim.day
    day.edit(topics={**day.cluster_spec["topics"], "replicationFactor": 1 + number % 3})


def add_topic(sim: Simulation, _: int) -> None:
    day = sim.day
    count = day.cluster_spec["topics"]["count"]
    if count < 5:
        day.edit(topics={**day.cluster_spec["topics"], "count": count + 1})


def abort_moves(sim: Simulation, number: int) -> None:
    sim.day.annotate(abort_reassignment="true")
    sim.later(20 + number % 200, "allow_moves")


def allow_moves(sim: Simulation, _: int) -> None:
    sim.day.annotate(abort_reassignment=None)


def rebalance(sim: Simulation, number: int) -> None:
    sim.day.annotate(rebalance=f"now-{number}")


def restart(sim: Simulation, number: int) -> None:
    sim.day.annotate(restart=f"again-{number}")


def make_run(sim: Simulation, number: int) -> None:
    """One that is over is made anew: the spec of a run cannot be edited."""
    day, key = sim.day, Key(NAMESPACE, f"run-{number % 3}")
    found = day.kube.get(WALPurge, key)
    if found is not None and found.status.is_finished:
        day.kube.remove(key, WALPurge)
    if ("WALPurge", key) not in day.kube._objects:
        day.run_of(key, dryRun=number % 7 == 0, safety=SAFETY)


def place_hold(sim: Simulation, number: int) -> None:
    """Now and then of records that are gone; one that is over is made anew."""
    day, key = sim.day, Key(NAMESPACE, f"kept-{number % 2}")
    beyond = 60 * (number % 13 - 4)
    low = {topic: max(0, start + beyond) for topic, start in day.log_starts().items() if topic in TOPICS}
    found = day.kube.get(WALHold, key)
    if found is not None and found.status.is_final:
        day.kube.remove(key, WALHold)
    if low:
        spec = {"clusterRef": {"name": "wal"}, "topics": low, "ttl": ("1m", "10m", "2h")[number % 3]}
        day.kube.apply(key, spec, kind=WALHold)


def verify(sim: Simulation, number: int) -> None:
    key = Key(NAMESPACE, f"check-{number % 2}")
    if ("WALVerification", key) not in sim.day.kube._objects:
        sim.day.kube.apply(key, {"clusterRef": {"name": "wal"}}, kind=WALVerification)


def delete_verification(sim: Simulation, number: int) -> None:
    key = Key(NAMESPACE, f"check-{number % 2}")
    if ("WALVerification", key) in sim.day.kube._objects:
        sim.day.kube.remove(key, WALVerification)


def edit_holds(sim: Simulation, _: int) -> None:
    for hold in _holds_of_people(sim.day):
        people_moves.place_hold(sim.day, hold)


def renew_holds(sim: Simulation, _: int) -> None:
    for hold in _holds_of_people(sim.day):
        sim.day.renew(hold)


def delete_holds(sim: Simulation, _: int) -> None:
    for hold in _holds_of_people(sim.day):
        sim.day.kube.remove(hold, WALHold)


def recreate_holds(sim: Simulation, _: int) -> None:
    for hold in _holds_of_people(sim.day):
        raw = sim.day.kube._objects.pop(("WALHold", hold))
        sim.day.kube.apply(hold, raw["spec"], kind=WALHold)


def _holds_of_people(day: Day) -> list[Key]:
    """And those of jobs: who takes that of a subscription, or of backups, destroys what it keeps."""
    kept = {"WALSubscription", "WALBackupPolicy", "WALBackup"}
    return [
        key
        for (kind, key), raw in day.kube._objects.items()
        if kind == "WALHold" and kept.isdisjoint(each["kind"] for each in raw["metadata"].get("ownerReferences", ()))
    ]


def suspend_mirror(sim: Simulation, number: int) -> None:
    sim.day.mirror.subscribe(suspend=True)
    sim.later(20 + number % 200, "resume_mirror")


def resume_mirror(sim: Simulation, _: int) -> None:
    sim.day.mirror.subscribe(suspend=False)


def drop_region(sim: Simulation, number: int) -> None:
    """A table goes for good."""
    day, topic = sim.day, TOPICS[number % len(TOPICS)]
    region = region_of(topic, number % (REGIONS - 1))
    if region in day.data_plane.regions:
        day.prod.bury(topic, region)
        day.store.drop_region(topic, region)
        day.prod.rows.pop(region, None)


def create_region(sim: Simulation, number: int) -> None:
    day, topic = sim.day, _topic(sim.day, number)
    if topic in day.kafka.topics and day.kafka.topics[topic].views_until_seen == 0:
        day.prod.bear(topic, (2_000 + number % 1_000) << 32, number % DATANODES)
        day.prod.write(topic, 2 * REGIONS)


def migrate_region(sim: Simulation, number: int) -> None:
    day, topic = sim.day, TOPICS[number % len(TOPICS)]
    region = region_of(topic, number % REGIONS)
    state = day.data_plane.regions.get(region)
    if state is not None and not day.data_plane.stopped and state.flushed <= state.last:
        state.datanode = (state.datanode + 1) % DATANODES
        day.store.put_region(topic, region, leader=state.datanode, checkpoint=None)
