"""The moves that are made in all scenarios: each with the parts of the outside that it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.adversary import people_moves as people
from tests.adversary import world_moves as world
from tests.adversary.arena import Arena
from tests.adversary.lives import ALL, CLOCK, Move

CLUSTER, HOLD, RUN, POLICY = "kube:WALCluster", "kube:WALHold", "kube:WALPurge", "kube:WALPurgePolicy"


def move(
    make: Callable[[Arena], object], *touches: str, name: str = "", shown_by: str = "", is_evidence: bool = False
) -> Move:
    """A move by the name of what makes it."""
    shows = frozenset({shown_by}) if shown_by else None
    return Move(name or getattr(make, "__name__", ""), frozenset(touches), make, shows, is_evidence)


BOTH = ("metasrv", "frontend", "etcd")
SERVICES = ("metasrv", "frontend")
SHOWN_BY = {
    "metasrv": frozenset({"reports", "in_maintenance"}),
    "frontend": frozenset({"nodes"}),
    "etcd": frozenset({"snapshot", "head", "maintenance"}),
}
"""By part of a database the calls that reach it, and so show that its address leads elsewhere."""
SWAPS = tuple(
    replace(
        move(how(to, *parts), *touches, name=f"{word} {to}: {'+'.join(parts)}"),
        shown_by=None if touches == (CLUSTER,) else frozenset[str]().union(*(SHOWN_BY[part] for part in parts)),
    )
    for how, word, touches in (
        (people.point_at, "spec names", (CLUSTER,)),
        (world.lead_to, "addresses lead to", ("database", "etcd")),
    )
    for to in ("staging", "twin")
    for parts in (BOTH, SERVICES, ("metasrv",), ("etcd",))
)
COMMON = (
    *(move(make, CLUSTER) for make in (people.stop_deletes, people.pause, people.edit_spec)),
    *(move(make, CLUSTER) for make in (people.remove_data_plane, people.delete_cluster, people.recreate_cluster)),
    move(people.make_rival, CLUSTER, "kafka", "database", "etcd", shown_by="list_claims"),
    *(move(make, "kafka") for make in (world.delete_topic, world.recreate_topic, world.cut_topic)),
    move(world.delete_elsewhere, "kafka"),
    *(move(make, "kafka", "database") for make in (world.recreate_topic_and_write, world.cut_topic_and_write)),
    move(world.region_is_born, "kafka", "database", "etcd", shown_by="snapshot"),
    *(move(make, "database", "etcd") for make in (world.region_migrates, world.region_is_dropped)),
    move(world.older_manifest, "database", shown_by="reports", is_evidence=True),
    *(move(make, "database") for make in (world.datanode_restarts, world.datanode_is_silent)),
    move(world.database_works, "kafka", "database"),
    move(world.restore_etcd, "etcd"),
    *(move(make, "intents") for make in (world.delete_intents, world.restore_intents)),
    move(people.place_hold, HOLD, "kafka"),
    move(people.grant_hold, ALL),
    *(move(make, HOLD) for make in (people.edit_hold, people.renew_hold, people.delete_hold, people.recreate_hold)),
    move(world.skew(2), CLOCK, name="clock is 2 h ahead"),
    move(world.skew(-2), CLOCK, name="clock is 2 h behind"),
    move(world.sleep_long, ALL, shown_by=CLUSTER),
    *SWAPS,
)
