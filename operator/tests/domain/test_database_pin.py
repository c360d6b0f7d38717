"""Which database is pinned, who has claimed it, and what a person may say about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import READOPT_ANNOTATION, ConditionType
from seawall.api.v1alpha1.cluster import DataPlaneStatus, WALCluster
from seawall.domain.cluster.identity import Pin, next_pin, why_other_database
from seawall.domain.cluster.readoption import read_readoption
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.view import DataPlaneView
from seawall.domain.ledger.observation import Unavailable, UnavailableReason
from seawall.domain.step import Record
from tests.domain.builders import (
    NOW,
    PINNED,
    make_cluster,
    make_kafka,
    make_spec,
    make_topic,
    next_step,
    observe,
    settle,
)
from tests.domain.two_clocks import agreed
from tests.fakes.dataplane import settings

MINE, THEIRS = "etcd/1/", "etcd/2/"
UID = "uid-1"
LATER = (NOW + timedelta(hours=3)).isoformat()
GREPTIMEDB = {
    "version": "1.1",
    "metasrv": "http://metasrv:4000",
    "frontend": "http://frontend:4000",
    "metadataStore": {"etcd": {"endpoints": ["http://etcd:2379"]}},
}
SPEC = make_spec(dataPlane={"greptimedb": GREPTIMEDB})
POOL = make_kafka(make_topic("wal_0"), make_topic("wal_1"))


def cluster(pin: Pin | None = None, readopt: str | None = None) -> WALCluster:
    """A WALCluster with what is pinned."""
    status = PINNED
    if pin is not None:
        found = DataPlaneStatus(identity=pin.identity, claimed=pin.claimed, readopted=pin.readopted)
        status = PINNED.model_copy(update={"data_plane": found})
    return make_cluster(SPEC, status, annotations={READOPT_ANNOTATION: readopt} if readopt else {})


def claims(owner: str | None) -> dict[str, str]:
    """Who has claimed the topics of the WALCluster, and those of another one, which is nobody's business."""
    return {"other": "somebody"} | ({} if owner is None else {"wal": owner})


def view(store_id: str = MINE, claim: str | None = None, version: str | None = "1.1.0") -> DataPlaneView:
    """What the database says."""
    return DataPlaneView(3, 3, 2, 2, store_id, claims(claim), version, settings(topics=2))


def ready(found: WALCluster) -> tuple[str, str]:
    """Status and reason of Ready, and that Stalled says the same."""
    condition = find_condition(found.status.conditions, ConditionType.READY)
    assert condition is not None
    return condition.status, condition.reason


@pytest.mark.parametrize(
    ("pin", "store_id", "claim", "why"),
    [
        (Pin(MINE), MINE, None, None),
        (Pin(MINE), MINE, UID, None),
        (Pin(MINE, claimed=True), MINE, UID, None),
        (None, MINE, None, UnavailableReason.NO_DATABASE_YET),
        (Pin(MINE), THEIRS, None, UnavailableReason.DATABASE_CHANGED),
        (Pin(MINE), THEIRS, UID, UnavailableReason.DATABASE_CHANGED),
        (Pin(MINE), MINE, "another", UnavailableReason.DATABASE_CLAIMED),
        (Pin(MINE, claimed=True), MINE, None, UnavailableReason.DATABASE_CHANGED),
        (Pin(MINE, claimed=True), MINE, "another", UnavailableReason.DATABASE_CLAIMED),
    ],
)
def test_the_database_is_the_pinned_one_or_why_it_is_not(
    pin: Pin | None, store_id: str, claim: str | None, why: UnavailableReason | None
) -> None:
    found = why_other_database(cluster(pin), store_id, claims(claim))
    assert (None if found is None else found.why) == why


def test_the_first_database_is_pinned_and_another_one_is_not() -> None:
    met, _ = settle(cluster(), observe(SPEC, POOL, data_plane=view()))
    assert Pin.of(met.status.data_plane) == Pin(MINE)
    assert ready(met) == ("True", "Ready")
    other, _ = settle(met, observe(SPEC, POOL, data_plane=view(THEIRS)))
    assert Pin.of(other.status.data_plane) == Pin(MINE)
    assert ready(other) == ("False", "DatabaseChanged")
    reachable = find_condition(other.status.conditions, ConditionType.DATA_PLANE_REACHABLE)
    assert reachable is not None
    assert (reachable.status, reachable.reason) == ("False", "DatabaseChanged")
    back, _ = settle(other, observe(SPEC, POOL, data_plane=view()))
    assert ready(back) == ("True", "Ready")


def test_what_is_pinned_outlives_a_declaration_that_is_removed_and_made_anew() -> None:
    met, _ = settle(cluster(), observe(SPEC, POOL, data_plane=view(claim=UID)))
    without, _ = settle(replace(met, spec=make_spec()), observe(make_spec(), POOL))
    assert Pin.of(without.status.data_plane) == Pin(MINE, claimed=True)
    other, _ = settle(replace(without, spec=SPEC), observe(SPEC, POOL, data_plane=view(THEIRS)))
    assert ready(other) == ("False", "DatabaseChanged")


def test_somebody_elses_claim_and_an_older_version_are_said() -> None:
    claimed, _ = settle(cluster(Pin(MINE)), observe(SPEC, POOL, data_plane=view(claim="another")))
    assert ready(claimed) == ("False", "DatabaseClaimed")
    older, _ = settle(cluster(Pin(MINE)), observe(SPEC, POOL, data_plane=view(version="1.0.2")))
    assert ready(older) == ("False", "VersionDiffers")
    unknown, _ = settle(cluster(Pin(MINE)), observe(SPEC, POOL, data_plane=view(version=None)))
    assert ready(unknown) == ("True", "Ready")


def pinned_by(found: WALCluster, store_id: str, claim: str | None, **other: Any) -> Pin:
    """What is pinned next."""
    return next_pin(found, store_id, claims(claim), agreed(NOW), **{"is_whole": True, **other})


def test_one_readoption_adopts_one_database() -> None:
    """It is used up once all is ours, and not before: a claim that somebody else has may be taken over by it, too."""
    text = f"moved@{LATER}"
    adopted = pinned_by(cluster(Pin(MINE, claimed=True), text), THEIRS, "another")
    assert adopted == Pin(THEIRS)
    still = pinned_by(cluster(adopted, text), THEIRS, "another")
    assert still == adopted, "the claim is somebody else's: it is not used up"
    done = pinned_by(cluster(adopted, text), THEIRS, UID)
    assert done.readopted is not None
    assert pinned_by(cluster(done, text), MINE, None) == done, "the next change needs another annotation"


def test_a_readoption_that_meets_nothing_wrong_adopts_nothing_later() -> None:
    text = f"just in case@{LATER}"
    used = pinned_by(cluster(Pin(MINE), text), MINE, None)
    assert used.readopted is not None
    assert pinned_by(cluster(used, text), THEIRS, None) == used
    waits = pinned_by(cluster(Pin(MINE), text), MINE, None, is_whole=False)
    assert waits.readopted is None, "something else waits for it"


@pytest.mark.parametrize("store_id", [MINE, THEIRS])
def test_a_readoption_that_expires_more_than_a_day_ahead_is_refused_for_good(store_id: str) -> None:
    """Also by the next process, which knows the status alone."""
    text = "a week@2026-11-28T12:00:00Z"
    observed = observe(SPEC, POOL, data_plane=view(store_id), server=agreed(NOW).server)
    refused, _ = settle(cluster(Pin(MINE), text), observed)
    pin = Pin.of(refused.status.data_plane)
    assert (pin.identity, pin.readopted is not None) == (MINE, True)
    day = agreed(datetime(2026, 11, 28, tzinfo=UTC))
    assert read_readoption(refused, day).followed is not None, "records are marked beside"
    assert next_pin(refused, THEIRS, claims(None), day, is_whole=True) == pin, "it must not come into force by waiting"


@pytest.mark.parametrize("text", [f"too late@{NOW.isoformat()}", "nonsense"])
def test_a_readoption_that_does_not_count_adopts_nothing(text: str) -> None:
    assert pinned_by(cluster(Pin(MINE), text), THEIRS, None) == Pin(MINE)


def test_a_readopted_database_is_reported_by_one_event() -> None:
    before = cluster(Pin(MINE), f"moved@{LATER}")
    blocked = Unavailable(UnavailableReason.DATABASE_CHANGED, "it is another")
    observed = observe(SPEC, POOL, data_plane=view(THEIRS), ledger=blocked, server=agreed(NOW).server)
    step = next_step(before, observed)
    assert isinstance(step, Record)
    assert [event.message for event in step.events if event.reason == "DatabaseReadopted"] == [
        f"The metadata store is {THEIRS} from now on, and was {MINE}"
    ]
    after = replace(before, status=step.status)
    assert Pin.of(after.status.data_plane) == Pin(THEIRS)
    met, _ = settle(after, observed)
    assert ready(met) == ("True", "Ready")
