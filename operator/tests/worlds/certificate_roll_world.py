"""The world of restarts of a managed Kafka with TLS: a node reads its Secret when it begins, and not again.

Beside what both worlds judge: none goes by our act that would come back with a certificate which those that stay do not
believe, or with CAs that did not sign theirs (S4). What happened after the Secret was read last is no act of ours.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from seawall.adapters.authority import Pair
from seawall.domain.managed_kafka.node import Node
from tests.support.clock import START
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import WAL
from tests.worlds.secured_world import HOSTS, NODES, OPERATOR, SECURED, YEAR, SecuredWorld, authority, secret, secret_of

OWN, OTHER = "own", "other"


@dataclass(frozen=True)
class Read:
    """What is in a Secret: who signed, whom it believes, which it is, and since when it is valid."""

    signer: str
    trusts: frozenset[str]
    serial: int
    begins: datetime = START - timedelta(minutes=1)

    def believes(self, other: Read) -> bool:
        """Whether a node with it lets one in that shows the other."""
        return other.signer in self.trusts


@cache
def issued(role: str, signer: str, serial: int, begins: datetime, hosts: tuple[str, ...]) -> Pair:
    """A certificate of one of two CAs; `serial` tells apart what is otherwise the same."""
    names = hosts if role == "node" else ()
    return authority(signer).issue(f"seawall:wal:{role}", WAL.namespace, names, begins, YEAR)


@dataclass(repr=False)
class CertificateRollWorld(RollWorld, SecuredWorld):
    """All that outlives a process.

    Attributes:
        held_now: what is in the Secret of the nodes.
        read: by node what it read when it began.
        is_secret_unread: the world moved since the Secret was read last.
        dated_back: how long before it is issued the time of a certificate begins.
        hosts: the names in a certificate of nodes.
    """

    spec: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(SECURED))
    held_now: Read = Read(OWN, frozenset({OWN}), 0)
    read: dict[int, Read] = field(default_factory=dict)
    is_secret_unread: bool = False
    dated_back: timedelta = timedelta()
    hosts: tuple[str, ...] = HOSTS

    def _start(self, node: Node) -> None:
        """It reads what is there by now; the others, which run, may not believe it."""
        if secret(NODES) not in self.kube.secrets:
            self.objects.update_pod(WAL, node.id, trouble="secret not found")
            return
        super()._start(node)
        if node.id not in self.running:
            return
        self.read[node.id] = self.held_now
        self.objects.update_pod(WAL, node.id, began=self.time.time)
        if not self.is_believed(node.id, self.held_now):
            self.running.discard(node.id)
            self.objects.update_pod(WAL, node.id, is_started=True, is_ready=False, trouble="")

    def is_believed(self, node: int, shown: Read) -> bool:
        """Whether it and all others that run let each other in."""
        others = [self.read[each] for each in self.running - {node}]
        is_valid = all(self.time.time < other.begins + YEAR for other in others)
        return is_valid and all(other.believes(shown) and shown.believes(other) for other in others)

    def _judge(self, node: int, *, is_up: bool) -> None:
        super()._judge(node, is_up=is_up)
        if not self.is_secret_unread and not self.is_believed(node, self.held_now):
            self.violations.append(f"S4: {node} goes, and comes back as a stranger with {self.held_now}")

    def has_newest(self) -> bool:
        """Whether all nodes run with what is in the Secret."""
        return self.is_as_declared() and set(self.read.values()) == {self.held_now}

    def is_rolled(self) -> bool:
        """The same, and the roll is over."""
        return super().is_rolled() and self.has_newest()

    # --- what people do

    def renew(self, signer: str = OWN, *trusts: str) -> None:
        """Somebody puts new certificates into the Secrets, and whom they believe: by default who signed."""
        begins = self.time.time - self.dated_back
        self._put_held(Read(signer, frozenset(trusts or {signer}), self.held_now.serial + 1, begins))

    def trust(self, *trusts: str) -> None:
        """Somebody puts other CAs beside the certificates."""
        self._put_held(replace(self.held_now, trusts=frozenset(trusts)))

    def _put_held(self, held: Read) -> None:
        self.held_now = held
        for name, role in ((NODES, "node"), (OPERATOR, "operator")):
            pair = issued(role, held.signer, held.serial, held.begins, self.hosts)
            self.kube.secrets[secret(name)] = secret_of(pair, *map(authority, sorted(held.trusts)))
