"""What a person gets to see: read by the operator, as far as the API server says that the person may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from seawall.api.meta import Key
from seawall.api.resource import Listing, ResourceT
from seawall.api.v1alpha1.cluster import WAL_CLUSTER, WALCluster
from seawall.domain.errors import Forbidden
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.overview.snapshot import Leader, Snapshot
from seawall.handlers.access import Caller
from seawall.observe.overview import read_snapshot
from seawall.ports import Clock, Kube
from seawall.ports.access import Access

Latest = Callable[[Key], LedgerPage | Unavailable | None]


@dataclass(frozen=True, slots=True)
class Visible:
    """Objects as the operator lists them, of the kinds that a person may list."""

    kube: Kube
    caller: Caller

    def list(self, resource: type[ResourceT], namespace: str | None = None) -> Listing[ResourceT]:
        """Raises Forbidden: the person may not."""
        access = Access("list", resource.KIND.plural, namespace or "")
        if not self.caller.may(access):
            raise Forbidden(f"you may not {access}")
        return self.kube.list(resource, namespace)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads for people. All of it blocks.

    Args:
        kube: the API server.
        latest: what the newest look found in a WALCluster's ledger.
        leader: who leads, as this process knows it.
        clock: the time.
    """

    kube: Kube
    latest: Latest
    leader: Callable[[], Leader]
    clock: Clock

    def clusters(self, caller: Caller) -> Sequence[WALCluster]:
        """All WALClusters that they may see, by namespace and name.

        Raises:
            Forbidden: the API server does not know them.
            OutsideUnavailable: it does not answer.
        """
        found = self.kube.list(WALCluster).items
        return sorted(_visible_to(caller, found), key=lambda each: each.metadata.key)

    def cluster(self, caller: Caller, key: Key) -> Snapshot | None:
        """A WALCluster and what belongs to it; None: there is none, or they may not see it.

        Raises:
            Forbidden: the API server does not know them.
            OutsideUnavailable: it does not answer.
        """
        if not caller.may(Access("get", WAL_CLUSTER.plural, key.namespace, key.name)):
            return None
        cluster = self.kube.get(WALCluster, key)
        if cluster is None:
            return None
        return read_snapshot(Visible(self.kube, caller), cluster, self.leader(), self.clock.now())


def _visible_to(caller: Caller, found: Sequence[WALCluster]) -> Iterator[WALCluster]:
    """By one question where they may list all, by one for each namespace else, and for each object at last."""
    plural = WAL_CLUSTER.plural
    if caller.may(Access("list", plural, "")):
        yield from found
        return
    lists = {each: caller.may(Access("list", plural, each)) for each in {at.metadata.namespace for at in found}}
    for each in found:
        key = each.metadata.key
        if lists[key.namespace] or caller.may(Access("get", plural, key.namespace, key.name)):
            yield each
