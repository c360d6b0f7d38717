"""A candidate for a Lease, and what an API server may have instead of one that is as usual."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

import pytest

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.lease import Lease
from seawall.api.meta import Key

KEY = Key("seawall", "seawall-operator")
PATH = "/apis/coordination.k8s.io/v1/namespaces/seawall/leases/seawall-operator"


class OneLease:
    """An API server with one Lease."""

    def __init__(self, lease: dict[str, Any]) -> None:
        self.lease = {"metadata": {"name": KEY.name, "namespace": KEY.namespace, "resourceVersion": "1"}, **lease}

    def get(self, path: str) -> dict[str, Any]:
        """Reads it."""
        assert path == PATH
        return copy.deepcopy(self.lease)

    def replace(self, path: str, body: Mapping[str, Any]) -> None:
        """Replaces it, at the version that was read."""
        assert (path, body["metadata"]["resourceVersion"]) == (PATH, self.lease["metadata"]["resourceVersion"])
        self.lease = copy.deepcopy(dict(body))
        self.lease["metadata"]["resourceVersion"] += "1"


def candidate(api: OneLease, identity: str = "me") -> Lease:
    return Lease(cast("KubeApi", api), KEY, identity, monotonic=lambda: 0.0)


@pytest.mark.parametrize("lease", [{}, {"spec": None}, {"spec": {}}, {"spec": {"holderIdentity": ""}}])
def test_a_lease_that_names_no_holder_is_taken(lease: dict[str, Any]) -> None:
    api = OneLease(lease)
    mine = candidate(api)
    assert mine.try_hold()
    assert mine.is_leader()
    assert api.lease["spec"]["holderIdentity"] == "me"
    assert not candidate(api, "other").try_hold()


def test_one_that_lost_its_spec_is_given_back_without_a_word() -> None:
    api = OneLease({})
    mine = candidate(api)
    assert mine.try_hold()
    del api.lease["spec"]
    mine.release()
    assert "spec" not in api.lease, "nobody held it any more"
    assert not mine.is_leader()


def test_a_term_ends_when_another_one_may_have_led() -> None:
    api, now = OneLease({}), [0.0]
    mine = Lease(cast("KubeApi", api), KEY, "me", monotonic=lambda: now[0])
    assert mine.term() == 0
    for at, term in ((0.0, 1), (3.0, 1), (12.9, 1), (23.0, 2), (24.0, 2)):
        now[0] = at
        assert mine.try_hold()
        assert mine.term() == term, at
    api.lease["spec"] = {"holderIdentity": "other"}
    assert not mine.try_hold()
    assert mine.term() == 2
    api.lease["spec"] = {}
    assert mine.try_hold()
    assert mine.term() == 3


def test_one_without_a_duration_lasts_as_long_as_ours() -> None:
    api, now = OneLease({"spec": {"holderIdentity": "other"}}), [0.0]
    mine = Lease(cast("KubeApi", api), KEY, "me", monotonic=lambda: now[0])
    for at, is_held in ((0.0, False), (14.0, False), (15.0, True)):
        now[0] = at
        assert mine.try_hold() is is_held
