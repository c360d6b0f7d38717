"""`seawall hold create`: waits until it is answered, and says how; a hold that is over is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from seawall.cli.hold import hold
from seawall.cli.parser import build_parser
from seawall.domain.errors import Refused

HOLDS = "/apis/seawall.dev/v1alpha1/namespaces/db/walholds"


class Server:
    """An API server where a hold goes through these states, one at each look."""

    def __init__(self, *states: str | None) -> None:
        self.states, self.spec = list(states), dict[str, Any]()

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        assert path == HOLDS
        self.spec = dict(body["spec"])

    def get(self, path: str) -> dict[str, Any] | None:
        assert path == f"{HOLDS}/audit"
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        ready = {"type": "Ready", "status": "True", "reason": "x", "message": f"it is {state}"}
        return {"status": {} if state is None else {"state": state, "conditions": [ready]}}

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        raise AssertionError((path, patch))


def create(server: Server, *words: str) -> list[str]:
    arguments = build_parser().parse_args(["hold", "create", "audit", "-n", "db", "--cluster", "wal", *words])
    return list(hold(arguments, server, lambda: None))


def test_it_is_followed_until_it_is_granted() -> None:
    server = Server(None, "Requested", "Requested", "Active")
    printed = create(server, "-t", "wal_0=15", "-t", "wal_1=0", "--ttl", "2h", "--max-lag-bytes", "10Gi")
    assert server.spec == {
        "clusterRef": {"name": "wal"},
        "topics": {"wal_0": 15, "wal_1": 0},
        "ttl": "2h",
        "reason": "",
        "maxLagBytes": "10Gi",
    }
    assert printed == ["walhold/audit created", "Pending: ", "Pending: it is Requested", "Active: it is Active"]


def test_all_topics_are_held_from_their_beginning() -> None:
    server = Server("Extended")
    create(server, "--all")
    assert server.spec["topics"] == {"*": "earliest"}


def test_one_that_comes_too_late_is_an_error() -> None:
    with pytest.raises(Refused, match="the hold is Lost: it is Lost"):
        create(Server("Requested", "Lost"), "--all")


def test_the_wait_has_an_end_and_may_be_left_out() -> None:
    with pytest.raises(Refused, match="it was not granted within 3 s: it counts already"):
        create(Server("Requested"), "--all", "--timeout", "3s")
    assert create(Server("Requested"), "--all", "--timeout", "0s") == ["walhold/audit created"]


@pytest.mark.parametrize("topic", ["wal_0", "=1", "wal_0=", "wal_0=-1", "wal_0=one", "wal_0=²"])
def test_what_is_mistyped_is_not_sent(topic: str) -> None:
    server = Server("Active")
    with pytest.raises(Refused, match="is no TOPIC=OFFSET, such as wal_0=1500"):
        create(server, "-t", topic)
    with pytest.raises(Refused, match="--timeout: 'soon' is no duration"):
        create(server, "--all", "--timeout", "soon")
    assert server.spec == {}


def test_a_topic_that_is_named_twice_is_not_held_from_the_offset_that_came_last() -> None:
    server = Server("Active")
    with pytest.raises(Refused, match="wal_0 is named twice"):
        create(server, "-t", "wal_0=15", "-t", "wal_1=1", "-t", "wal_0=1500")
    assert server.spec == {}


class Kept(Server):
    """An API server that keeps what was patched."""

    def __init__(self, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
        super().__init__("Active")
        self.found = {"metadata": {"resourceVersion": "7", **metadata}, "spec": dict(spec)}
        self.patches: list[Any] = []

    def get(self, path: str) -> dict[str, Any] | None:
        return {**self.found, **(super().get(path) or {})}

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        assert path == f"{HOLDS}/audit"
        self.patches.append(patch)


def change(server: Server, verb: str) -> list[str]:
    arguments = build_parser().parse_args(["hold", verb, "audit", "-n", "db"])
    return list(hold(arguments, server, lambda: None))


@pytest.mark.parametrize(
    ("metadata", "spec", "sentence"),
    [
        ({"deletionTimestamp": "2026-12-01T09:00:00Z"}, {}, "the hold is being deleted and cannot be renewed"),
        ({}, {"release": True}, "the hold is released and cannot be renewed"),
    ],
)
def test_what_the_operator_would_not_count_is_no_renewal(
    metadata: dict[str, str], spec: dict[str, bool], sentence: str
) -> None:
    """Its holder renews it by a job, which must hear of it before the ttl is over."""
    server = Kept(metadata, spec)
    with pytest.raises(Refused, match=sentence):
        change(server, "renew")
    assert not server.patches
    assert change(server, "release") == ["walhold/audit released"]


def test_a_renewal_is_another_time_at_the_version_that_was_read() -> None:
    server = Kept({}, {})
    (printed,) = change(server, "renew")
    (patch,) = server.patches
    assert patch["metadata"] == {"resourceVersion": "7"}
    assert printed == f"walhold/audit renewed at {patch['spec']['renewTime']}"
