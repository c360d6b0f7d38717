"""A database that serves the contract (`dataPlane.http`), with durable starts, no markers, and a standby that lags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.adversary import people_moves as people
from tests.adversary.arena import OTHERS, Arena
from tests.adversary.leader_moves import OF_LEADERS, OF_STANDBYS
from tests.adversary.lives import Move
from tests.adversary.moves import COMMON, SWAPS, move
from tests.adversary.special_moves import FROM_ITS_START, OF_RUNS
from tests.worlds.contract_world import PLAIN, said

URL = "http://queue:8080"


@dataclass
class ContractArena(Arena):
    """All that outlives a process."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cluster_spec = {name: found for name, found in self.cluster_spec.items() if name != "verification"}
        self.network.services[URL] = self.network.stores[URL] = "prod"
        for name in ("prod", *OTHERS):
            self.network.databases[name].plane.wal = said(PLAIN)
        self.edit(dataPlane={"http": {"url": URL}})

    def work(self, rows: int = 12) -> None:
        """The standby has read what its leader had flushed before."""
        for region, node in self.data_plane.followers:
            state = self.data_plane.regions.get(region)
            if state is not None:
                self.data_plane.followers[region, node] = max(self.data_plane.followers[region, node], state.flushed)
        why = self.referee.unlicensed  # where one reads is judged by its position
        self.referee.unlicensed = {topic: each for topic, each in why.items() if each != FROM_ITS_START}
        super().work(rows)

    def follow(self, region: int, node: int) -> None:
        """A standby is set up, which has what its leader has flushed."""
        self.data_plane.followers[region, node] = self.data_plane.regions[region].flushed
        self.store.put_followers(region, node)


def another_answers(name: str) -> Callable[[Arena], None]:
    """The same address leads to another database."""

    def make(arena: Arena) -> None:
        arena.overtaken_by(name)
        arena.network.services[URL] = arena.network.stores[URL] = name

    return make


def names_another(name: str) -> Callable[[Arena], None]:
    """The spec names another database."""

    def make(arena: Arena) -> None:
        arena.overtaken_by(name)
        address = f"http://queue.{name}:8080"
        arena.network.services[address] = arena.network.stores[address] = name
        arena.edit(dataPlane={"http": {"url": address}})

    return make


def withdraws_starts(arena: Arena) -> None:
    """A release of the database takes back that starts are durable."""
    arena.data_plane.wal = said(replace(PLAIN, durable_starts=False))
    people.forbid(arena, "starts are not durable", "delete_records")


def deletes_from_now_on(arena: Arena) -> None:
    """By its own word the database deletes, through any hold."""
    arena.data_plane.wal = said(PLAIN, deletes=True)
    people.forbid(arena, "the database deletes by itself", "delete_records")


OF_GREPTIMEDB = frozenset({"make_rival", "declare_old_version", "runs_older_version", "deletes_by_itself"})
OF_CONTRACTS: tuple[Move, ...] = (
    *(each for each in (*COMMON, *OF_RUNS) if each not in SWAPS and each.name not in OF_GREPTIMEDB),
    *OF_LEADERS,
    *OF_STANDBYS,
    *(move(make, "settings") for make in (withdraws_starts, deletes_from_now_on)),
    *(
        replace(
            move(another_answers(name), "database", "etcd", name=f"the address leads to {name}"),
            shown_by=frozenset({"reports", "nodes", "snapshot", "head"}),
        )
        for name in ("staging", "twin")
    ),
    *(move(names_another(name), "kube:WALCluster", name=f"spec names {name}") for name in ("staging", "twin")),
)
