"""One operator with all its controllers in a simulated world where nothing goes wrong, and people who edit specs."""

from __future__ import annotations

import asyncio
import copy
import random as chance
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.dataplane.connection import (
    ClientTLS,
    DatabaseConnection,
    DataPlaneConnection,
    EtcdConnection,
    NotReached,
    PartUnavailable,
    User,
)
from seawall.ports import DataPlaneParts, MaintenanceSwitch
from tests.adversary.network import Network
from tests.fakes.ids import seed_ids
from tests.simulation.clocks import VirtualLoop
from tests.simulation.day import Day
from tests.simulation.plan import Plan
from tests.simulation.run import Simulation
from tests.walk.leaves import Spec
from tests.worlds.backup_world import POLICY
from tests.worlds.purge_world import NAMESPACE, WAL
from tests.worlds.restore_world import SOURCE
from tests.worlds.subscription_world import DR

STEP_SECONDS = 10.0
KINDS = {each.KIND.kind: each for each in RESOURCES}
REF = {"clusterRef": {"name": "wal"}}
PLACES = {
    "WALCluster": WAL,
    "WALPurgePolicy": Key(NAMESPACE, "every"),
    "WALPurge": Key(NAMESPACE, "run"),
    "WALHold": Key(NAMESPACE, "hold"),
    "WALVerification": Key(NAMESPACE, "check"),
    "WALBackup": Key(NAMESPACE, "full"),
    "WALBackupPolicy": POLICY,
    "WALRestore": Key(NAMESPACE, "back"),
    "WALSubscription": DR,
}
"""Where the object of each kind is."""
MADE: dict[str, tuple[Any, Spec]] = {
    "WALPurgePolicy": (WALPurgePolicy, {**REF, "interval": "24h"}),
    "WALPurge": (WALPurge, REF),
    "WALHold": (WALHold, {**REF, "topics": {"wal_0": 5}, "ttl": "24h"}),
    "WALVerification": (WALVerification, REF),
    "WALBackup": (WALBackup, REF),
    "WALRestore": (WALRestore, {**REF, "source": SOURCE, "target": {"latest": True}, "padAboveFlushed": True}),
}
"""What people make in a world that is to walk leaves of this kind."""


@dataclass
class Anywhere(Network):
    """Where addresses lead that nobody has: to nobody."""

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:
        """Whoever is there."""
        return (
            super().connect(key, connection)
            if self._is_here(connection)
            else DataPlaneParts(cast("Any", _Nobody()), cast("Any", _Nobody()))
        )

    def _is_here(self, connection: DatabaseConnection) -> bool:
        if not isinstance(connection, DataPlaneConnection) or not isinstance(connection.store, EtcdConnection):
            return False
        services = {connection.metasrv, connection.frontend} <= self.services.keys()
        return services and self.stores.keys() >= set(connection.store.endpoints)

    def maintenance_of(
        self, key: Key, metasrv: str, tls: ClientTLS, user: User | None = None, database: str | None = None
    ) -> MaintenanceSwitch:
        """Whoever is there."""
        is_here = metasrv.rstrip("/") in self.services
        if not is_here:
            return cast("MaintenanceSwitch", _Nobody())
        return super().maintenance_of(key, metasrv, tls, user, database)


class _Nobody:
    """Answers nothing."""

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            raise PartUnavailable(NotReached.METASRV_UNREACHABLE, "no answer: connection refused")

        return call


class _Secrets(dict[Key, dict[str, bytes]]):
    """There is every Secret, with every key."""

    def get(self, key: Key, default: Any = None) -> Any:  # noqa: ARG002 - as a dict's
        return _AnyKey()


class _AnyKey(dict[str, bytes]):
    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002 - as above
        return b"walked"

    def __missing__(self, key: str) -> bytes:
        return b"walked"

    def __contains__(self, key: object) -> bool:
        return True


@dataclass
class World:
    """Made at rest, for the leaves of one kind.

    Attributes:
        spec: of the object of that kind, when it was made; None: the one that is usual.
    """

    kind: str
    spec: Spec | None = None
    sim: Simulation = field(init=False)

    def __post_init__(self) -> None:
        seed_ids("walk")
        self._chance = chance.getstate()
        chance.seed("walk")
        mirrors, backs_up = self.kind == "WALSubscription", self.kind in {"WALBackup", "WALBackupPolicy", "WALRestore"}
        network = Anywhere()
        day = Day(auto_prune="Disabled", random=Random(1), mirrors=mirrors, backs_up=backs_up, network=network)  # noqa: S311 - a seed
        day.referee._still_stands = lambda hold: False  # type: ignore[method-assign]  # noqa: ARG005 - an edit may end it
        day.most = 10_000  # moves at a time: the spec says how many
        day.work(40)
        day.kube.secrets = _Secrets()
        day.is_at_rest = True
        day.kube.remove(PLACES["WALPurgePolicy"], WALPurgePolicy)
        if self.kind != "WALBackupPolicy" and backs_up:
            day.kube.remove(POLICY, KINDS["WALBackupPolicy"])
        plan = Plan(1, "Disabled", destroys=False, mirrors=mirrors, backs_up=backs_up, windows=(), happenings=())
        self.sim = Simulation(plan, day, Random(2))  # noqa: S311 - as above
        self.sim.is_calm = True
        self._loop = VirtualLoop(day.time)
        self._loop.set_exception_handler(lambda *_: None)
        if self.kind in MADE:
            day.kube.apply(PLACES[self.kind], MADE[self.kind][1], kind=MADE[self.kind][0])
        if self.spec is not None:
            self.edit(self.spec)
        self._loop.run_until_complete(self._begin())

    async def _begin(self) -> None:
        self.sim._start()
        self.sim.elect()

    @property
    def day(self) -> Day:
        """All that outlives a process."""
        return self.sim.day

    @property
    def declared(self) -> Spec:
        """The spec of the object."""
        found: Spec = copy.deepcopy(self.raw["spec"])
        return found

    @property
    def raw(self) -> dict[str, Any]:
        """The object."""
        return self.day.kube._objects[self.kind, PLACES[self.kind]]

    @property
    def name(self) -> str:
        """What a state calls the object."""
        return f"{self.kind} {PLACES[self.kind].name}"

    def has_object(self) -> bool:
        """Whether it is still there."""
        return (self.kind, PLACES[self.kind]) in self.day.kube._objects

    def is_refused(self, reason: str) -> bool:
        """Whether the object is Stalled for this reason."""
        conditions = self.raw.get("status", {}).get("conditions", ())
        return any(each["type"] == "Stalled" and each["reason"] == reason for each in conditions)

    @property
    def now(self) -> float:
        """Seconds since it began."""
        return self._loop.time()

    def edit(self, spec: Spec) -> None:
        """Somebody writes another spec of the object."""
        if self.kind == "WALCluster":
            self.day.cluster_spec = copy.deepcopy(spec)
            self.day.edit()
        else:
            self.day.kube.apply(PLACES[self.kind], spec, kind=KINDS[self.kind])
        self.day.referee.moved()

    def live(self, seconds: float) -> None:
        """Time passes."""
        self._loop.run_until_complete(self._live(seconds))

    async def _live(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until and not self.sim.is_over:
            self.sim._step()
            await asyncio.sleep(STEP_SECONDS)

    def close(self) -> None:
        """It ends."""
        self.sim.is_over = True
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()
        chance.setstate(self._chance)
