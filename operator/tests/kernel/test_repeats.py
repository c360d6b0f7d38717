"""What was said a moment ago is no news; what could not be said was not said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.objects import KubeAdapter
from seawall.adapters.kube.repeats import Repeats
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.domain.errors import OutsideUnavailable
from seawall.domain.step import Event, EventType
from tests.fakes.kube import FakeKube
from tests.kernel.test_crash_at_every_call import KEY, spec


def test_only_what_was_not_said_lately_is_news() -> None:
    now = 0.0
    repeats = Repeats(10.0, lambda: now)
    assert repeats.is_new("a")
    assert repeats.is_new("b")
    assert not repeats.is_new("a")
    now = 9.9
    assert not repeats.is_new("a")
    now = 10.0
    assert repeats.is_new("a")
    assert not repeats.is_new("a")
    assert repeats.is_new("b")


def test_what_could_not_be_said_is_news_when_it_is_tried_again() -> None:
    repeats = Repeats(10.0, lambda: 0.0)
    assert repeats.is_new("a")
    repeats.forget("a")
    repeats.forget("never said")
    assert repeats.is_new("a")
    assert not repeats.is_new("a")


class BusyApi:
    """An API server that takes no event before it is let."""

    def __init__(self) -> None:
        self.is_busy = True
        self.posted: list[str] = []

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        """Posts an Event."""
        if self.is_busy:
            raise OutsideUnavailable(f"creating in {path}: 429 too many requests")
        self.posted.append(body["message"])


def test_an_event_that_the_api_server_did_not_take_is_posted_when_it_is_tried_again() -> None:
    api, cluster = BusyApi(), FakeKube()
    cluster.apply(KEY, spec())
    obj = cluster.get(WALCluster, KEY)
    assert obj is not None
    kube, event = KubeAdapter(cast("KubeApi", api), ()), Event(EventType.WARNING, "ChangeRefused", "you may not")
    assert not kube.post_event(obj, event)
    api.is_busy = False
    assert kube.post_event(obj, event)
    assert kube.post_event(obj, event), "it was, a moment ago"
    assert api.posted == ["you may not"]
