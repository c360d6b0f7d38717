"""What can happen on a day: what people do, what goes wrong for a while, and what an adversary destroys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.kafka import NoKafka, Unreachable
from tests.adversary import moves, special_moves
from tests.adversary import people_moves as people
from tests.adversary import world_moves as world
from tests.adversary.lives import ALL, Move
from tests.adversary.moves import CLUSTER, HOLD, RUN
from tests.adversary.world_moves import region_of
from tests.simulation.day import SAFETY, Day
from tests.worlds.purge_world import NAMESPACE, REGIONS, TOPICS
from tests.worlds.restart_world import DATANODES

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation

Make = Callable[["Simulation", int], object]
CALL_FAULTS = ("dies_before", "dies_after", "answer_lost", "not_sent", "conflict", "sent_twice")
"""What happens to one call."""


@dataclass(frozen=True)
class Deed:
    """Something that happens.

    Attributes:
        make: does it; the number is its chance.
        touches: the parts of the outside that it changes, as moves of the adversary say.
        move: the adversary's move that it is.
        destroys: whether not everything can be as declared afterwards.
    """

    name: str
    make: Make
    touches: frozenset[str] = frozenset()
    move: Move | None = None
    destroys: bool = False

    def as_move(self) -> Move:
        """To know whether an action could have seen it."""
        return self.move or Move(self.name, self.touches, lambda _: None)


def _topic(day: Day, number: int) -> str:
    names = sorted(day.prod.store._now.topics)
    return names[number % len(names)]


# --- people


def stop_deletes(sim: Simulation, number: int) -> None:
    people.stop_deletes(sim.day)
    sim.later(60 + number % 400, "allow_deletes")


def allow_deletes(sim: Simulation, _: int) -> None:
    sim.day.annotate(stop_deletes=None)
    _allow(sim, "seawall.dev/stop-deletes is set")


def pause(sim: Simulation, number: int) -> None:
    people.pause(sim.day)
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
            people.forbid(sim.day, other)


def edit_bytes(sim: Simulation, number: int) -> None:
    day = sim.day
    day.edit(topics={**day.cluster_spec["topics"], "maxMessageBytes": f"{1 + number % 3}Mi"})


def edit_replicas(sim: Simulation, number: int) -> None:
    day = sim.day
    day.edit(topics={**day.cluster_spec["topics"], "replicationFactor": 2 + number % 2})


def add_topic(sim: Simulation, _: int) -> None:
    day = sim.day
    count = day.cluster_spec["topics"]["count"]
    if count < 5:
        day.edit(topics={**day.cluster_spec["topics"], "count": count + 1})


def rebalance(sim: Simulation, number: int) -> None:
    sim.day.annotate(rebalance=f"now-{number}")


def restart(sim: Simulation, number: int) -> None:
    sim.day.annotate(restart=f"again-{number}")


def make_run(sim: Simulation, number: int) -> None:
    sim.day.run_of(Key(NAMESPACE, f"run-{number % 3}"), dryRun=number % 7 == 0, safety=SAFETY)


def place_hold(sim: Simulation, number: int) -> None:
    day = sim.day
    key = Key(NAMESPACE, f"kept-{number % 2}")
    low = {topic: start + number % 9 for topic, start in day.log_starts().items() if topic in TOPICS}
    if low:
        spec = {"clusterRef": {"name": "wal"}, "topics": low, "ttl": ("10m", "2h", "24h")[number % 3]}
        day.kube.apply(key, spec, kind=WALHold)


def verify(sim: Simulation, number: int) -> None:
    key = Key(NAMESPACE, f"check-{number % 2}")
    if ("WALVerification", key) not in sim.day.kube._objects:
        sim.day.kube.apply(key, {"clusterRef": {"name": "wal"}}, kind=WALVerification)


def delete_verification(sim: Simulation, number: int) -> None:
    key = Key(NAMESPACE, f"check-{number % 2}")
    if ("WALVerification", key) in sim.day.kube._objects:
        sim.day.kube.remove(key, WALVerification)


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


# --- what goes wrong for a while


def broker_goes(sim: Simulation, number: int) -> None:
    day = sim.day
    if not day.kafka.offline:
        day.kafka.offline = {number % 4 + 1}
        day.is_excused = True
        sim.later(20 + number % 400, "brokers_come")


def brokers_come(sim: Simulation, _: int) -> None:
    sim.day.kafka.offline = set()
    sim.day.is_excused = False
    sim.day.excuse()


def kafka_is_silent(sim: Simulation, number: int) -> None:
    sim.day.kafka.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")
    sim.later(10 + number % 200, "kafka_answers")


def kafka_answers(sim: Simulation, _: int) -> None:
    sim.day.kafka.unreachable = None


def kafka_is_late(sim: Simulation, number: int) -> None:
    kafka = sim.day.kafka
    kafka.late_topics, kafka.late_leaders, kafka.late_configs = number % 4, number % 3, number % 3


def database_is_silent(sim: Simulation, number: int) -> None:
    sim.day.data_plane.is_silent = True
    sim.later(10 + number % 200, "database_answers")


def database_answers(sim: Simulation, _: int) -> None:
    sim.day.data_plane.is_silent = False


def etcd_is_silent(sim: Simulation, number: int) -> None:
    sim.day.store.is_silent = True
    sim.later(10 + number % 200, "etcd_answers")


def etcd_answers(sim: Simulation, _: int) -> None:
    sim.day.store.is_silent = False


def api_server_is_down(sim: Simulation, number: int) -> None:
    sim.api_server_is_down = True
    sim.later(5 + number % 90, "api_server_answers")


def api_server_answers(sim: Simulation, _: int) -> None:
    sim.api_server_is_down = False


def watch_is_silent(sim: Simulation, number: int) -> None:
    """Of one process: what happens is heard of when it is replaced."""
    sim.watch.silence(sim.processes[number % 2], 20 + number % 10)


def datanode_restarts(sim: Simulation, number: int) -> None:
    if not sim.day.data_plane.stopped:
        sim.day.data_plane.epochs[number % DATANODES] = sim.day.data_plane.epochs.get(number % DATANODES, 1) + 1


def datanode_is_silent(sim: Simulation, number: int) -> None:
    node = number % DATANODES
    if not sim.day.data_plane.stopped and not sim.day._phase:
        sim.day.data_plane.stopped.add(node)
        sim.later(20 + number % 300, "datanodes_report", node)


def datanodes_report(sim: Simulation, node: int) -> None:
    if node not in sim.day._phase:
        sim.day.data_plane.stopped.discard(node)


def region_is_busy(sim: Simulation, number: int) -> None:
    region = region_of(TOPICS[number % len(TOPICS)], number % REGIONS)
    sim.day.data_plane.busy.add(region)
    sim.later(60 + number % 200, "regions_flush")


def regions_flush(sim: Simulation, _: int) -> None:
    sim.day.data_plane.busy.clear()


def driver_dies(sim: Simulation, _: int) -> None:
    sim.day.dies = 1


def clock_jumps(sim: Simulation, number: int) -> None:
    """Of one process."""
    sim.processes[number % 2].clock.ahead = timedelta(minutes=(-120, -3, 0, 3, 120)[number % 5])


def process_dies(sim: Simulation, number: int) -> None:
    process = sim.processes[number % 2]
    if not any(tick.process is process for tick in sim.inside):
        process.die()


def both_lead(sim: Simulation, number: int) -> None:
    """The Lease is broken: each believes that it leads."""
    for process in sim.processes:
        process.lead(leads=True)
    sim.later(20 + number % 120, "one_leads")


def one_leads(sim: Simulation, _: int) -> None:
    sim.elect()


def freeze(sim: Simulation, number: int) -> None:
    """The process that calls is frozen in the middle; another one takes over, and all else goes on."""
    sim.freeze(number)


def meanwhile(sim: Simulation, number: int) -> None:
    """Other threads of the operator work in the middle of a tick."""
    sim.meanwhile(number)


def _of(move: Move, *, destroys: bool = True) -> Deed:
    return Deed(move.name, lambda sim, _: move.make(sim.day), move.touches, move, destroys)


def _deed(make: Make, *touches: str) -> Deed:
    return Deed(getattr(make, "__name__", ""), make, frozenset(touches))


_PEOPLE_AT_CLUSTER = (stop_deletes, pause, edit_bytes, edit_replicas, add_topic, rebalance, restart)
PEOPLE = (
    *(_deed(make, CLUSTER) for make in _PEOPLE_AT_CLUSTER),
    _deed(make_run, RUN),
    _deed(make_run, RUN),
    _deed(place_hold, HOLD, "kafka"),
    *(_of(each, destroys=False) for each in moves.COMMON if each.make in {people.edit_hold, people.renew_hold}),
    *(_of(each, destroys=False) for each in moves.COMMON if each.make in {people.delete_hold, people.recreate_hold}),
    *(_deed(make, special_moves.VERIFICATION) for make in (verify, delete_verification)),
    *(_deed(make, "database", "etcd", "kafka") for make in (drop_region, create_region, migrate_region)),
)
TROUBLE = (
    *(_deed(make, "kafka") for make in (broker_goes, kafka_is_silent, kafka_is_late)),
    *(_deed(make, "database") for make in (database_is_silent, datanode_restarts, datanode_is_silent, region_is_busy)),
    _deed(etcd_is_silent, "etcd"),
    *(_deed(make, ALL) for make in (api_server_is_down, watch_is_silent, clock_jumps, process_dies, both_lead)),
    *(_deed(make, ALL) for make in (freeze, freeze, meanwhile, meanwhile, driver_dies)),
    _of(next(each for each in special_moves.OF_ROLLS if each.make is special_moves.pod_goes), destroys=False),
)
_DAMAGES = (
    *(world.delete_topic, world.recreate_topic, world.recreate_topic_and_write, world.cut_topic),
    *(world.cut_topic_and_write, world.delete_elsewhere, world.older_manifest, world.restore_etcd),
    *(world.delete_intents, world.restore_intents, people.make_rival, people.remove_data_plane),
    *(people.delete_cluster, people.recreate_cluster),
)
DAMAGE = (
    *(_of(each) for each in moves.COMMON if each.make in _DAMAGES),
    *(_of(each) for each in moves.SWAPS),
    *(_of(each) for each in special_moves.OF_RUNS if each.name in {"restore_api_server", "runs_older_version"}),
    *(_of(each) for each in special_moves.OF_RUNS if each.name in {"deletes_by_itself", "empty_etcd"}),
)
HEALS = tuple(
    _deed(make, ALL)
    for make in (
        *(allow_deletes, go_on, brokers_come, kafka_answers, database_answers, etcd_answers, api_server_answers),
        *(datanodes_report, regions_flush, one_leads),
    )
)
DEEDS = {deed.name: deed for deed in (*PEOPLE, *TROUBLE, *DAMAGE, *HEALS)}
