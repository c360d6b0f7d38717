"""Of several served namespaces one may be gone, with its Role: the others are read, and it is named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.handlers import watch

WALS = {
    "metadata": {
        "name": "wal",
        "namespace": "db",
        "uid": "1",
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-22T09:00:00Z",
    }
}


def adapter(namespaces: Sequence[str], error: Exception) -> KubeAdapter:
    """Of an API server that answers for the namespace `db` only."""

    def answer(path: str) -> list[dict[str, Any]]:
        if "/namespaces/db/" not in path:
            raise error
        return [{**WALS, "spec": {"kafka": {"external": {"bootstrapServers": ["kafka:9092"]}}}}]

    return KubeAdapter(cast("KubeApi", SimpleNamespace(list=answer)), namespaces)


def test_a_namespace_whose_role_is_gone_is_named_and_hides_no_other() -> None:
    kube = adapter(["db", "gone", "away"], Forbidden("walclusters is forbidden"))
    for found in (kube.list(WALCluster), kube.list_claims("greptimedb_wal_topic")):
        assert [each.metadata.name for each in found.items] == ["wal"]
        assert (found.unreadable, found.complete) == (("gone", "away"), False)
    assert kube.list(WALCluster, "db").complete


def test_an_only_namespace_that_may_not_be_read_and_an_api_server_that_is_silent_are_no_empty_list() -> None:
    with pytest.raises(Forbidden):
        adapter(["gone"], Forbidden("walclusters is forbidden")).list(WALCluster)
    with pytest.raises(Forbidden):
        adapter([], Forbidden("walclusters is forbidden")).list(WALCluster)
    with pytest.raises(OutsideUnavailable):
        adapter(["db", "gone"], OutsideUnavailable("no answer")).list(WALCluster)


def test_a_watch_of_a_namespace_that_is_gone_never_ends() -> None:
    """With its last pause kopf ends, and all watches with it; it begins anew for each request."""
    pauses = watch._settings().networking.error_backoffs
    assert not isinstance(pauses, float | int)
    for _ in range(2):
        found = list(islice(pauses, 5000))
        assert (len(found), found[:4], set(found[3:])) == (5000, [0.5, 1, 2, 3], {3})
