"""What can happen on a day: what people do, what goes wrong for a while, and what an adversary destroys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.adversary import moves, people_moves, special_moves
from tests.adversary import world_moves as world
from tests.adversary.lives import ALL, Move
from tests.adversary.moves import CLUSTER, HOLD, RUN
from tests.adversary.subscriptions import SUBSCRIPTION
from tests.simulation import people, trouble

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


def _of(move: Move, *, destroys: bool = True) -> Deed:
    return Deed(move.name, lambda sim, _: move.make(sim.day), move.touches, move, destroys)


def _deeds(makes: tuple[Make, ...], *touches: str) -> tuple[Deed, ...]:
    return tuple(Deed(getattr(make, "__name__", ""), make, frozenset(touches)) for make in makes)


PEOPLE = (
    *_deeds((people.stop_deletes, people.pause, people.abort_moves, people.rebalance), CLUSTER),
    *_deeds((people.restart, people.restart), CLUSTER),
    *_deeds((people.edit_bytes, people.edit_replicas, people.edit_replicas, people.add_topic), CLUSTER),
    *_deeds((people.make_run, people.make_run), RUN),
    *_deeds((people.place_hold, people.place_hold), HOLD, "kafka"),
    *_deeds((people.edit_holds, people.renew_holds, people.delete_holds, people.recreate_holds), HOLD),
    *_deeds((people.suspend_mirror,), SUBSCRIPTION),
    *_deeds((people.verify, people.delete_verification), special_moves.VERIFICATION),
    *_deeds((people.drop_region, people.create_region, people.migrate_region), "database", "etcd", "kafka"),
)
TROUBLE = (
    *_deeds((trouble.broker_goes, trouble.kafka_is_silent, trouble.kafka_is_late), "kafka"),
    *_deeds((trouble.target_is_silent, trouble.target_is_late, trouble.target_forgets), "kafka"),
    *_deeds((trouble.application_goes, trouble.old_drivers_wake_up), "spark", "kafka"),
    *_deeds((trouble.database_is_silent, trouble.region_is_busy), "database"),
    *_deeds((trouble.datanode_restarts, trouble.datanode_is_silent), "database"),
    *_deeds((trouble.etcd_is_silent,), "etcd"),
    *_deeds((trouble.api_server_is_down, trouble.watch_is_silent, trouble.clock_jumps, trouble.clock_jumps), ALL),
    *_deeds((trouble.process_dies, trouble.both_lead, trouble.driver_dies), ALL),
    *_deeds((trouble.freeze, trouble.freeze, trouble.meanwhile, trouble.meanwhile), ALL),
    _of(next(each for each in special_moves.OF_ROLLS if each.make is special_moves.pod_goes), destroys=False),
)
_STOPS = {"stop_deletes", "pause", "place_hold", "abort_moves", "edit_replicas", "pod_goes", "freeze"}
STOPS = tuple(deed for deed in (*PEOPLE, *TROUBLE) if deed.name in _STOPS)
"""After which an action that was decided may be wrong."""
_DAMAGES = (
    *(world.delete_topic, world.recreate_topic, world.recreate_topic_and_write, world.cut_topic),
    *(world.cut_topic_and_write, world.delete_elsewhere, world.older_manifest, world.restore_etcd),
    *(world.delete_intents, world.restore_intents, people_moves.make_rival, people_moves.remove_data_plane),
    *(people_moves.delete_cluster, people_moves.recreate_cluster),
    *(people_moves.edit_hold, people_moves.delete_hold, people_moves.recreate_hold),
)
_AT_TARGET = (*((trouble.somebody_writes_to_target,) * 4), trouble.lose_target_topic)
DAMAGE = (
    *(_of(each) for each in moves.COMMON if each.make in _DAMAGES),
    *(replace(each, destroys=True) for each in _deeds(_AT_TARGET, "kafka")),
    *(_of(each) for each in moves.SWAPS),
    *(_of(each) for each in special_moves.OF_RUNS if each.name in {"restore_api_server", "runs_older_version"}),
    *(_of(each) for each in special_moves.OF_RUNS if each.name in {"deletes_by_itself", "empty_etcd"}),
)
_BREAKS = (
    *("deletes_by_itself", "runs_older_version", "recreate_topic_and_write", "cut_topic_and_write", "older_manifest"),
    *("restore_etcd", "delete_intents", "delete_cluster", "delete_elsewhere"),
)
BREAKS = tuple(deed for deed in DAMAGE if deed.name in _BREAKS)
"""The same, of what an adversary does."""
HEALS = (
    *_deeds((people.allow_deletes, people.go_on, people.allow_moves, people.resume_mirror), ALL),
    *_deeds((trouble.target_answers,), ALL),
    *_deeds((trouble.brokers_come, trouble.kafka_answers, trouble.database_answers, trouble.etcd_answers), ALL),
    *_deeds((trouble.api_server_answers, trouble.datanodes_report, trouble.regions_flush, trouble.one_leads), ALL),
)
DEEDS = {deed.name: deed for deed in (*PEOPLE, *TROUBLE, *DAMAGE, *HEALS)}
