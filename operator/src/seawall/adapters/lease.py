"""Leader election on a coordination.k8s.io Lease.

The client's own elector has no request deadline, trusts wall clocks and never releases; with a frozen connection two
leaders acted side by side for 49 s. Here every request ends after 5 s, time is monotonic and our own, and leadership
ends by itself `RENEW_SECONDS` after the last successful renewal, whatever the network does.
A Lease makes two actors rare; that every write is conditional makes them harmless.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from seawall.adapters.kube_client import DEADLINE, is_absent, translated_errors
from seawall.api.meta import Key
from seawall.domain.errors import Conflict, SeawallError

_log = logging.getLogger(__name__)

LEASE_SECONDS = 15.0
"""A Lease that was not renewed for this long may be taken."""
RENEW_SECONDS = 10.0
"""A leader that could not renew for this long is none any more."""
RETRY_SECONDS = 2.0
"""Pause between attempts."""


class Lease:
    """One candidate for one Lease. `try_hold` is called by one thread; `is_leader` by any."""

    def __init__(
        self, api: client.ApiClient, key: Key, identity: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._api = client.CoordinationV1Api(api)
        self._key = key
        self._identity = identity
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._renewed: float | None = None
        self._seen: tuple[str, float] | None = None

    def is_leader(self) -> bool:
        """Whether this process holds the Lease now."""
        with self._lock:
            return self._renewed is not None and self._monotonic() - self._renewed < RENEW_SECONDS

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
        with self._lock:
            self._renewed = started if held else None
        return held

    def release(self) -> None:
        """Gives the Lease back, so that a successor need not wait for its end. Stop acting before."""
        if not self.is_leader():
            return
        with self._lock:
            self._renewed = None
        try:
            found = self._get()
            if found is not None and found.spec and found.spec.holder_identity == self._identity:
                self._replace(found, holder="")
        except SeawallError as error:
            _log.warning("%s", error)

    def _take_or_renew(self, now: float) -> bool:
        found = self._get()
        if found is None:
            self._create()
            return True
        spec = found.spec or client.V1LeaseSpec()
        if spec.holder_identity not in {self._identity, "", None} and not self._has_expired(found, now):
            return False
        self._replace(found, holder=self._identity)
        return True

    def _has_expired(self, found: client.V1Lease, now: float) -> bool:
        """Whether the Lease stayed the same for its whole duration by our own clock."""
        version = _version(found)
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, now)
        duration = found.spec.lease_duration_seconds if found.spec else None
        return now - self._seen[1] >= (duration or LEASE_SECONDS)

    def _get(self) -> client.V1Lease | None:
        with translated_errors(f"reading Lease {self._key}"):
            try:
                return self._api.read_namespaced_lease(self._key.name, self._key.namespace, _request_timeout=DEADLINE)
            except ApiException as error:
                if is_absent(error):
                    return None
                raise

    def _create(self) -> None:
        metadata = client.V1ObjectMeta(name=self._key.name)
        body = client.V1Lease(metadata=metadata, spec=_spec(self._identity, transitions=0))
        with translated_errors(f"creating Lease {self._key}"):
            self._api.create_namespaced_lease(self._key.namespace, body, _request_timeout=DEADLINE)

    def _replace(self, found: client.V1Lease, holder: str) -> None:
        before = found.spec or client.V1LeaseSpec()
        transitions = (before.lease_transitions or 0) + (before.holder_identity != holder)
        metadata = client.V1ObjectMeta(name=self._key.name, resource_version=_version(found))
        body = client.V1Lease(metadata=metadata, spec=_spec(holder, transitions))
        with translated_errors(f"renewing Lease {self._key}"):
            self._api.replace_namespaced_lease(self._key.name, self._key.namespace, body, _request_timeout=DEADLINE)


def _version(found: client.V1Lease) -> str:
    return (found.metadata.resource_version if found.metadata else None) or ""


def _spec(holder: str, transitions: int) -> client.V1LeaseSpec:
    now = datetime.now(UTC)
    return client.V1LeaseSpec(
        holder_identity=holder,
        lease_duration_seconds=int(LEASE_SECONDS),
        acquire_time=now,
        renew_time=now,
        lease_transitions=transitions,
    )
