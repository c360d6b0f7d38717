"""The world of a managed Kafka whose voters change: a quorum that keeps a log, as Raft does (KIP-853).

A vote is that of one disk. Whoever may lead by the votes there are does, and of several the one that has the least: so
a disk that forgot what it had acknowledged leads as soon as votes allow it. Judged after each call: no change that the
quorum acknowledged is gone, each vote is changed under the journal's entry while all others have caught up (K3), and no
disk that is there loses its vote. What happened after Kafka was asked last is no act of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.managed_kafka_status import VoterChange
from seawall.controllers.kafka_voters import KafkaVotersController
from seawall.domain.managed_kafka.identity import IDENTITY, Identity
from seawall.domain.managed_kafka.names import identity_name
from seawall.reconciler import Reconciler
from tests.worlds.kafka_removal_world import CHANGES as BASE
from tests.worlds.kafka_removal_world import RemovalWorld
from tests.worlds.managed_world import BROKERS, CONTROLLERS, WAITS, WAL, ManagedWorld, pool
from tests.worlds.purge_world import Guard

CHANGES = BASE | {"add_voter", "remove_voter"}
METADATA = "__cluster_metadata"
Votes = dict[int, str]


@dataclass(repr=False)
class VotersWorld(RemovalWorld):
    """All that outlives a process.

    Attributes:
        changes: processes change votes; before that they bring up.
        first: how many controllers there are in the beginning.
        committed: how many changes the quorum has acknowledged.
        leads: the controller that leads.
        catches_up: for how many looks a controller that begins lacks records.
        is_unread: the world moved since the WALCluster was read last.
        votes_before: as they were at the check before.
    """

    changes: bool = False
    first: int = len(CONTROLLERS)
    committed: int = 0
    leads: int | None = None
    catches_up: int = 2
    is_unread: bool = False
    votes_before: Votes = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.controllers(self.first)

    # --- the operator

    def processes(self, calls: Guard | None = None) -> list[Reconciler[Any, Any, Any, Any]]:
        """Who makes nodes, who changes votes, and who takes nodes out."""
        return [self.process(calls), *([self.voter(calls), self.remover(calls)] if self.changes else [])]

    def voter(self, calls: Guard | None = None) -> Reconciler[Any, Any, Any, Any]:
        """The controller of votes, of a new operator process."""

        def guard(port: Any) -> Any:
            return port if calls is None else calls.guard(port)

        controller = KafkaVotersController(
            guard(self.kube), guard(self.objects), guard(self.clusters()), self.time, self.time
        )
        return Reconciler(controller, may_write=lambda: True)

    def bring_up(self) -> VotersWorld:
        """All nodes are Online, and the first controllers vote."""
        ManagedWorld.bring_up(self)
        self.changes = True
        return self

    def controllers(self, count: int) -> None:
        """Somebody wants so many controllers."""
        made = [
            pool("controllers", "controller", CONTROLLERS[0], count),
            pool("brokers", "broker", BROKERS[0], len(BROKERS)),
        ]
        self.spec = {**self.spec, "kafka": {"managed": {**self.spec["kafka"]["managed"], "nodePools": made}}}
        self.kube.apply(WAL, self.spec)

    # --- Kafka

    def votes(self) -> Votes:
        """By controller the disk that votes."""
        moves = self.kafka.moves
        return {each: moves.directories[each] for each in moves.controllers if each in moves.directories}

    def disk_directory(self, node: int) -> str:
        """Of the disk that there is; empty: it has none."""
        disk = self.disk_of(node)
        return "" if disk is None else disk.directory

    def living(self) -> set[int]:
        """Voters whose disk is there and runs."""
        return {
            each for each, disk in self.votes().items() if each in self.running and self.disk_directory(each) == disk
        }

    def has_quorum(self) -> bool:
        """Whether more than half of the votes are there."""
        return self.leads is not None and 2 * len(self.living()) > len(self.votes())

    def hear_controllers(self) -> None:
        """One look of the quorum: somebody leads, and writes one change, which the others fetch."""
        self._begin()
        moves, living = self.kafka.moves, self.living()
        self.leads = self._leader(living)
        following = self._following()
        if self.leads is not None:
            self._replicate(self.leads, living, following)
        moves.controllers = tuple(sorted(moves.controllers, key=lambda each: each != self.leads))
        moves.controllers_down = set(moves.controllers) - living
        moves.observers = following
        heard = {self.votes()[each] for each in living} | set(following.values())
        never = {disk for disk in self.votes().values() if disk not in {made for _, made in self.formatted}}
        moves.unheard = {each for each, disk in self.votes().items() if disk in never and each not in following}
        told = {*self.votes().values(), *following.values()}
        moves.silent = {each: moves.silent.get(each, 0) + int(WAITS * 1000) for each in told - heard}
        moves.voter_lags = {each: 20 for each in (*living, *following) if self.behind.get(each)}
        self.behind = {node: looks - 1 for node, looks in self.behind.items() if looks > 1}

    def _begin(self) -> None:
        """The first votes are those of the disks for which ids were made."""
        moves, record = self.kafka.moves, self.objects.records.get(Key(WAL.namespace, identity_name(WAL.name)))
        if moves.controllers or record is None:
            return
        initial = Identity.model_validate_json(record.data[IDENTITY]).initial
        if any(node in self.running for node in initial):
            moves.controllers, moves.directories = tuple(sorted(initial)), dict(initial)
            self.votes_before = self.votes()

    def _following(self) -> Votes:
        """Controllers that run and have no vote, by the disk that they have."""
        declared = {node.id for node in self.nodes if node.pool.is_controller}
        own = {each: self.disk_directory(each) for each in sorted(declared & self.running)}
        return {each: disk for each, disk in own.items() if self.votes().get(each) != disk}

    def _leader(self, living: set[int]) -> int | None:
        """Of those that may lead by the votes there are the one that leads, else the one that has least."""
        total = len(self.votes())
        may = [
            each for each in sorted(living) if 2 * sum(self.end(each) >= self.end(other) for other in living) > total
        ]
        if not may:
            return None
        return self.leads if self.leads in may else min(may, key=self.end)

    def _replicate(self, leader: int, living: set[int], following: Votes) -> None:
        if self.end(leader) < self.committed:
            self.violations.append(f"K3: {leader} leads with {self.end(leader)} of {self.committed} changes")
        end = self.end(leader) + 1
        for each in {*living, *following} - ({*self.behind} - {leader}):
            self._put(each, METADATA, end)
        if 2 * sum(self.end(each) == end for each in living) > len(self.votes()):
            self.committed = max(self.committed, end)

    def end(self, node: int) -> int:
        """Where its metadata log ends."""
        return self._log(node, METADATA)

    def _format(self, *args: Any) -> None:
        """Whoever begins with an empty disk has to fetch all."""
        super()._format(*args)
        node = args[0].id
        if node not in BROKERS and self.changes:
            self.behind[node] = self.catches_up

    # --- the laws

    def check(self, after: str) -> None:
        """K3 beside the others."""
        before, now = self.votes_before, self.votes()
        self.votes_before = now
        if after in {"add_voter", "remove_voter"} and before != now:
            self._check_change(before, now)
        super().check(after)

    def _check_stopped(self, after: str) -> None:
        """K5 of controllers, too: nobody is stopped that votes."""
        voting = (self.taken_out() - self.stopped) & set(self.votes())
        if voting and not self.is_unseen:
            self.violations.append(f"K5: {voting} are stopped, and vote, {after}")
        super()._check_stopped(after)

    def _check_change(self, before: Votes, now: Votes) -> None:
        changed = {each for each in {*before, *now} if before.get(each) != now.get(each)}
        entry = self.entry()
        is_journalled = entry is not None and {entry.name} == {f"wal-{each}-0" for each in changed}
        if not self.is_unread and not is_journalled and not self.stands_beside(entry, changed):
            self.violations.append(f"K1: the votes of {changed} change, and the journal has {entry}")
        if self.is_unseen:
            return
        leaving = {node.id for node in self.nodes if node.is_leaving}
        stay = (set(before) & set(now)) - changed
        away = {each for each in stay if each not in self.living() or each in self.behind}
        if changed <= leaving and not changed & self.living() and 2 * len(stay - away) > len(before):
            away -= leaving  # who leaves and is away is not waited for by another one
        if away or len(changed) != 1:
            self.violations.append(f"K3: the votes of {changed} change while {away} are away")
        for each in set(before) - set(now) - leaving:
            if self.disk_directory(each) == before[each]:
                self.violations.append(f"K3: {each} loses its vote, and has its disk")

    def stands_beside(self, entry: Disruption | None, changed: set[int]) -> bool:
        """Whether that restart is overdue, and takes nothing away that the votes of lost disks need."""
        if entry is None or entry.kind not in {DisruptionKind.DATANODE_RESTART, DisruptionKind.KAFKA_NODE_RESTART}:
            return False
        is_overdue = self.time.time >= (entry.gone_time or entry.start_time) + timedelta(seconds=entry.budget_seconds)
        has_gone = entry.gone_time is not None and entry.name in {f"wal-{each}-0" for each in self.votes_before}
        leaving = {node.id for node in self.nodes if node.is_leaving}
        is_shut_by = entry.kind == DisruptionKind.KAFKA_NODE_RESTART and entry.gone_time is None and changed <= leaving
        if is_shut_by and not {each for each in changed & self.living() if each not in self.behind}:
            return True
        return is_overdue and not has_gone and not changed & leaving

    # --- what is true, and what people do

    def found_status(self) -> Any:
        """As the API server has it."""
        found = self.kube.get(WALCluster, WAL)
        return None if found is None else found.status

    def change(self) -> VoterChange | None:
        """As the status has it."""
        return None if self.found_status() is None else self.found_status().voter_change

    def removed(self) -> set[int]:
        """Nodes that are out for good."""
        managed = None if self.found_status() is None else self.found_status().managed_kafka
        return set() if managed is None else set(managed.removed)

    def disrupt(self, kind: DisruptionKind, pod: str) -> None:
        """Another controller disrupts a pod, if nothing else is disrupted."""
        if self.entry() is None:
            now = self.time.time
            self.write_entry(Disruption(kind=kind, name=pod, uid="uid", start_time=now, budget_seconds=60))

    def falls_behind(self, node: int, looks: int = 3) -> None:
        """Its metadata lacks records."""
        self.behind[node] = looks
        self.elect()

    def crash(self, node: int) -> None:
        """It ends, and Kafka knows it."""
        self.kill(node)
        self.elect()

    def holds(self, node: int) -> None:
        """Its machine is away: its pod is not made anew."""
        self.held.add(node)
        self.crash(node)

    def returns(self, node: int) -> None:
        """Its machine is back."""
        self.held.discard(node)

    def is_done(self) -> bool:
        """All that are declared vote with the disks that they have, and nothing else is in the journal."""
        declared = {node.id for node in self.nodes if node.pool.is_controller}
        is_settled = self.change() is None and self.removal() is None and self.entry() is None
        return set(self.votes()) == declared == self.living() and is_settled
