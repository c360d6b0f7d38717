"""The database's etcd, restored from a copy: what it knew of the time between is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seawall_e2e.cluster import START_SECONDS
from seawall_e2e.commands import CommandFailed, Object, asked, kubectl
from seawall_e2e.faults import FaultKind
from seawall_e2e.invariants import InvariantSampler
from seawall_e2e.nemesis import HalfDone
from seawall_e2e.objects import find, wait_complete
from seawall_e2e.purges import Purges
from seawall_e2e.refdb import RefDb
from seawall_e2e.waiting import wait_until

REASONS = frozenset({"DatabaseChanged", "IdentityFenceBroken"})
"""What a WALCluster says of a store without its claim; of one whose revision, or one of whose markers, went back."""
SAID_SECONDS = 180.0
_FOLDER = "/var/lib/etcd"
DELETED_SECONDS = 420.0
"""For a run that deletes, beside rolls, moves and holds that keep others from it."""
_SAVE = f"set -e; cd {_FOLDER}; [ -e saved ] || {{ rm -rf part && cp -r data part && mv part saved; }}"
_RESTORE = f"set -e; cd {_FOLDER}; [ ! -e saved ] || {{ rm -rf data && mv saved data; }}"
"""Once each: Kubernetes may run a container before all others again."""


@dataclass(frozen=True, slots=True)
class EtcdCopy:
    """A copy of all data of a database's etcd, on its own volume."""

    database: RefDb

    def save(self) -> None:
        """Makes it; etcd is away for that long."""
        self._start_after(_SAVE)

    def restore(self) -> None:
        """Lets etcd begin with it: its id is the one of before, its revision is not."""
        self._start_after(_RESTORE)

    def _start_after(self, script: str) -> None:
        """Stops etcd, and starts it behind a container that runs this once."""
        first = {
            "name": "copy",
            "image": self.database.images.refdb,
            "command": ["sh", "-c", script],
            "volumeMounts": [{"name": "data", "mountPath": _FOLDER}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        self._scale(0)
        wait_until(lambda: find(self.database.namespace, "pods", "etcd-0") is None, "etcd is stopped")
        # A template that changes later is for pods that are made later.
        self._patch(
            updateStrategy={"type": "OnDelete", "rollingUpdate": None}, template={"spec": {"initContainers": [first]}}
        )
        self._scale(1)
        wait_complete(
            self.database.namespace, "statefulsets", "etcd", within=START_SECONDS, explain=self.database.explain
        )
        self._patch(template={"spec": {"initContainers": None}})

    def _scale(self, replicas: int) -> None:
        self._kubectl("scale", "statefulset", "etcd", f"--replicas={replicas}")

    def _patch(self, **spec: Any) -> None:
        self._kubectl("patch", "statefulset", "etcd", "--type=merge", "-p", json.dumps({"spec": spec}))

    def _kubectl(self, *words: str) -> None:
        kubectl("-n", self.database.namespace, *words)


@dataclass(frozen=True, slots=True)
class EtcdRestored:
    """Somebody stops the database, restores its etcd, starts it, reads what Seawall says of it, and readopts it."""

    copy: EtcdCopy
    purges: Purges
    sampler: InvariantSampler
    kind = FaultKind.ETCD_RESTORED

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Restores it; at the end Seawall has said what is wrong, and a person that it is right.

        Raises:
            HalfDone: somebody did not answer in the middle of it.
        """
        try:
            # No marker would have gone back without a run that moved one since the copy was made.
            self.purges.wait_for_a_whole_run(within=DELETED_SECONDS, deletes=True)
            with self.sampler.markers_may_fall():
                yield from self._restored()
        except CommandFailed as failed:
            raise HalfDone(f"the database's etcd is not restored, or in half: {failed}") from failed

    def _restored(self) -> Iterator[None]:
        database, explain = self.copy.database, self.purges.explain
        database.stop()
        self.copy.restore()
        database.start_again()
        yield
        wait_until(lambda: asked(self._is_said), "what is wrong is said", within=SAID_SECONDS, explain=explain)
        self.purges.readopt("etcd was restored")
        wait_until(lambda: asked(self._is_right), "it is right", within=SAID_SECONDS, explain=explain)

    def _is_said(self) -> bool:
        return any(each["reason"] in REASONS for each in self._conditions())

    def _is_right(self) -> bool:
        """Not while nobody can look: then nothing is said, and what is wrong is said again afterwards."""
        intact = [each["status"] for each in self._conditions() if each["type"] == "WALIntact"]
        return intact == ["True"] and not self._is_said()

    def _conditions(self) -> Sequence[Object]:
        found: Sequence[Object] = self.purges.wal.status().get("conditions", ())
        return found

    def __str__(self) -> str:
        return "etcd"
