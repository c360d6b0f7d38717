"""What goes wrong for a while on a day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from seawall.domain.kafka import NoKafka, Unreachable
from tests.adversary.world_moves import region_of
from tests.worlds.purge_world import REGIONS, TOPICS
from tests.worlds.restart_world import DATANODES

if TYPE_CHECKING:  # it imports this module
    from tests.simulation.run import Simulation


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
    kafka.late_deletes, kafka.moves.late = number % 9, number % 4


def target_is_silent(sim: Simulation, number: int) -> None:
    """The Kafka of the copies."""
    sim.day.mirror.target.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")
    sim.later(10 + number % 200, "target_answers")


def target_answers(sim: Simulation, _: int) -> None:
    sim.day.mirror.target.unreachable = None


def target_is_late(sim: Simulation, number: int) -> None:
    target = sim.day.mirror.target
    target.late_topics, target.late_leaders, target.late_configs = number % 4, number % 3, number % 3
    target.late_deletes = number % 9


def target_forgets(sim: Simulation, _: int) -> None:
    """Who wrote to a topic: nothing was appended for a day, or its leader is another."""
    for topic in sim.day.mirror.target.topics.values():
        topic.log.producers.clear()


def somebody_writes_to_target(sim: Simulation, number: int) -> None:
    """And no job finds it."""
    mirror = sim.day.mirror
    names = sorted(mirror.target.topics)
    if names:
        mirror.is_blind = True
        mirror.write_to_target(names[number % len(names)], 1 + number % 9)


def lose_target_topic(sim: Simulation, number: int) -> None:
    names = sorted(sim.day.mirror.target.topics)
    if names:
        del sim.day.mirror.target.topics[names[number % len(names)]]


def application_goes(sim: Simulation, number: int) -> None:
    """Somebody deletes one, whosesoever it is; its driver goes on for a while."""
    spark = sim.day.spark
    if spark.applications:
        spark.delete(spark.applications[sorted(spark.applications)[number % len(spark.applications)]])


def old_drivers_wake_up(sim: Simulation, _: int) -> None:
    """All that ever copied copy once more, by their own requests."""
    mirror = sim.day.mirror
    for key in sorted(sim.day.kube.config_maps()):
        found = mirror.request_of(key)
        if found is not None and "producer" in found[0]:
            for topic in found[0]["topics"]:
                mirror.copy(topic, found[0]["producer"])


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
    sim.processes[number % 2].clock.ahead = timedelta(minutes=(-120, -3, 0, 3, 15, 120)[number % 6])


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
    sim.nemesis.freeze(number)


def meanwhile(sim: Simulation, number: int) -> None:
    """Other threads of the operator work in the middle of a tick."""
    sim.nemesis.meanwhile(number)
