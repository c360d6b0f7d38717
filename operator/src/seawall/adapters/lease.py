"""Leader election on a coordination.k8s.io Lease.

The client's own elector has no request deadline, trusts wall clocks and never releases; with a frozen connection two
leaders acted side by side for 49 s. Here every request ends after 5 s, time is monotonic and our own, and leadership
ends by itself `LEASE_RENEW_SECONDS` after the last successful renewal, whatever the network does: a leader that wakes
up from a machine's sleep must not believe in its old Lease.
A Lease makes two actors rare; that every write is conditional makes them harmless.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from seawall.adapters.clock import since_boot
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.times import LEASE_RENEW_SECONDS, LEASE_SECONDS
from seawall.api.meta import Key
from seawall.domain.errors import Conflict, SeawallError

_log = logging.getLogger(__name__)


class Lease:
    """One candidate for one Lease. `try_hold` is called by one thread; `is_leader` by any.

    Args:
        api: the connection.
        key: namespace and name of the Lease.
        identity: who this process is.
        annotations: what stands on the Lease while this process holds it; None: what an earlier one left is taken away.
        monotonic: the clock.
    """

    def __init__(
        self,
        api: KubeApi,
        key: Key,
        identity: str,
        annotations: Mapping[str, str | None] | None = None,
        monotonic: Callable[[], float] = since_boot,
    ) -> None:
        self._api = api
        self._key = key
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{key.namespace}/leases"
        self._path = f"{self._collection}/{key.name}"
        self._identity = identity
        self._annotations = dict(annotations or {})
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._renewed: float | None = None
        self._terms = 0
        self._observed_before: tuple[str, float] | None = None

    def is_leader(self) -> bool:
        """Whether this process holds the Lease now."""
        with self._lock:
            return self._renewed is not None and self._monotonic() - self._renewed < LEASE_RENEW_SECONDS

    def term(self) -> int:
        """How often this process has begun to lead: between two terms another one may have led."""
        with self._lock:
            return self._terms

    def try_hold(self) -> bool:
        """Takes or renews the Lease, if that is possible; returns whether this process holds it."""
        started = self._monotonic()
        try:
            held = self._take_or_renew(started)
        except Conflict:
            held = False
        except SeawallError as error:
            _log.warning("%s", error)
            return self.is_leader()
        has_led = self.is_leader()
        with self._lock:
            self._terms += held and not has_led
            self._renewed = started if held else None
        return held

    def release(self) -> None:
        """Gives the Lease back, so that a successor need not wait for its end. Stop acting before."""
        if not self.is_leader():
            return
        with self._lock:
            self._renewed = None
        try:
            found = self._api.get(self._path)
            if found is not None and _spec(found).get("holderIdentity") == self._identity:
                self._replace(found, holder="")
        except SeawallError as error:
            _log.warning("%s", error)

    def _take_or_renew(self, now: float) -> bool:
        found = self._api.get(self._path)
        if found is None:
            metadata = {
                "name": self._key.name,
                "namespace": self._key.namespace,
                "annotations": _set(self._annotations),
            }
            self._api.create(self._collection, _lease(metadata, self._identity, transitions=0))
            return True
        holder = _spec(found).get("holderIdentity")
        if holder and holder != self._identity and not self._has_expired(found, now):
            return False
        self._replace(found, holder=self._identity)
        return True

    def _has_expired(self, found: dict[str, Any], now: float) -> bool:
        """Whether the Lease stayed the same for its whole duration by our own clock."""
        version = found["metadata"]["resourceVersion"]
        if self._observed_before is None or self._observed_before[0] != version:
            self._observed_before = (version, now)
        return now - self._observed_before[1] >= float(_spec(found).get("leaseDurationSeconds", LEASE_SECONDS))

    def _replace(self, found: dict[str, Any], holder: str) -> None:
        before = _spec(found)
        is_same = before.get("holderIdentity") == holder
        transitions = before.get("leaseTransitions", 0) + (not is_same)
        acquired = before.get("acquireTime") if is_same else None
        kept = found["metadata"].get("annotations") or {}
        metadata = {**found["metadata"], "annotations": _set({**kept, **self._annotations})}
        self._api.replace(self._path, _lease(metadata, holder, transitions, acquired))


def _spec(found: dict[str, Any]) -> dict[str, Any]:
    """Somebody may make a Lease without one, as an API server lets him: nobody holds it."""
    return found.get("spec") or {}


def _lease(metadata: dict[str, Any], holder: str, transitions: int, acquired: str | None = None) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(LEASE_SECONDS),
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        },
    }


def _set(annotations: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in annotations.items() if value is not None}
