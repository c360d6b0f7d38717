"""Who is woken by an event about an object."""

from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.kinds import KINDS
from seawall.controllers.brokers import BROKERS
from seawall.handlers.event_filter import DEPENDENTS, EventFilter, Subject

Body = dict[str, Any]


def subject(kind: str, name: str, namespace: str = "db") -> Subject:
    return Subject(kind, Key(namespace, name))


def body(kind: str, name: str, cluster: str | None = "wal", namespace: str = "db", **more: Any) -> Body:
    metadata = {"namespace": namespace, "name": name, "uid": f"{kind}-{name}", "generation": 1}
    spec = {} if cluster is None else {"clusterRef": {"name": cluster}}
    return {
        "kind": kind,
        "metadata": {**metadata, **more.pop("metadata", {})},
        "spec": {**spec, **more.pop("spec", {})},
        **more,
    }


WAL = body("WALCluster", "wal", None)
NIGHTLY = body("WALPurgePolicy", "nightly")
RUN = body("WALPurge", "run")
OTHER_RUN = body("WALPurge", "other-run")
BACKUP = body("WALHold", "backup")
CHECK = body("WALVerification", "check")
COPY = body("WALBackup", "copy")
HOURLY = body("WALBackupPolicy", "hourly")
BACK = body("WALRestore", "back")
OTHER_BACK = body("WALRestore", "other-back")
MIRROR = body("WALSubscription", "mirror")
FAMILY = (WAL, NIGHTLY, RUN, OTHER_RUN, BACKUP, CHECK, COPY, HOURLY, BACK, OTHER_BACK, MIRROR)
STRANGERS = (
    body("WALCluster", "wal", None, namespace="elsewhere"),
    body("WALPurgePolicy", "nightly", namespace="elsewhere"),
    body("WALCluster", "other", None),
    body("WALPurgePolicy", "of-other", "other"),
    body("WALPurge", "of-other", "other"),
    body("WALHold", "of-other", "other"),
    body("WALHold", "of-nobody", None),
)


@pytest.fixture
def changed_status() -> EventFilter:
    """All objects were seen once."""
    made = EventFilter()
    for each in (*FAMILY, *STRANGERS):
        made.wakes(each["kind"], each, deleted=False)
    return made


def wakes(changed_status: EventFilter, changed: Body, *, deleted: bool = False) -> set[Subject]:
    return changed_status.wakes(changed["kind"], changed, deleted=deleted)


def of(*bodies: Body) -> set[Subject]:
    return {subject(each["kind"], each["metadata"]["name"]) for each in bodies}


def with_metadata(of_body: Body, **metadata: Any) -> Body:
    return {**of_body, "metadata": {**of_body["metadata"], **metadata}}


WAKES = (
    (WAL, FAMILY),
    (NIGHTLY, (NIGHTLY,)),
    (RUN, (RUN, WAL, NIGHTLY, OTHER_RUN)),
    (BACKUP, (BACKUP, WAL, RUN, OTHER_RUN, CHECK, COPY, HOURLY, MIRROR)),
    (COPY, (COPY, WAL, HOURLY)),
    (HOURLY, (HOURLY,)),
    (BACK, (BACK, WAL, HOURLY, OTHER_BACK)),
    (CHECK, (CHECK, WAL, RUN, OTHER_RUN)),
    (MIRROR, (MIRROR,)),
)


@pytest.mark.parametrize(("changed", "woken"), WAKES, ids=lambda each: each["kind"] if isinstance(each, dict) else "")
def test_an_edit_wakes_the_object_and_those_of_its_cluster_that_depend_on_it(
    changed: Body, woken: tuple[Body, ...], changed_status: EventFilter
) -> None:
    edited = {**with_metadata(changed, generation=2), "spec": {**changed["spec"], "edited": True}}
    found = wakes(changed_status, edited)
    assert found == of(*woken)
    assert {each.family for each in found} == {Key("db", "wal")}, (
        "the queue ticks not too many of one WALCluster at once"
    )
    assert wakes(changed_status, edited) == set()


@pytest.mark.parametrize(("changed", "woken"), WAKES, ids=lambda each: each["kind"] if isinstance(each, dict) else "")
def test_a_deletion_wakes_the_same(changed: Body, woken: tuple[Body, ...], changed_status: EventFilter) -> None:
    assert wakes(changed_status, changed, deleted=True) == of(*woken)


@pytest.mark.parametrize("changed", [WAL, NIGHTLY, RUN, BACKUP, CHECK], ids=lambda each: each["kind"])
@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"seawall.dev/paused": "true"}},
        {"deletionTimestamp": "2026-11-21T12:00:00Z"},
        {"finalizers": ["a/b"]},
        {"uid": "made anew"},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_what_a_tick_reads_of_the_metadata_is_news(changed: Body, metadata: Body, changed_status: EventFilter) -> None:
    assert of(changed) <= wakes(changed_status, with_metadata(changed, **metadata))


@pytest.mark.parametrize("changed", FAMILY, ids=lambda each: each["metadata"]["name"])
def test_a_status_write_and_foreign_annotations_wake_nobody(changed: Body, changed_status: EventFilter) -> None:
    noise = with_metadata(changed, resourceVersion="7", annotations={"kubectl.kubernetes.io/x": "y"}, labels={"a": "b"})
    assert wakes(changed_status, {**noise, "status": {"conditions": [{"type": "Ready"}]}}) == set()


def test_what_is_found_out_about_kafka_wakes_who_looks_at_its_brokers(changed_status: EventFilter) -> None:
    brokers = subject(BROKERS, "wal")
    status: Body = {"conditions": [{"type": "KafkaReachable", "status": "True"}]}
    assert wakes(changed_status, {**WAL, "status": status}) == {brokers}
    status["topics"] = {"total": 2, "ready": 1}
    assert wakes(changed_status, {**WAL, "status": dict(status)}) == {brokers}
    status["kafka"] = {"brokers": {"total": 3, "online": 2}}
    assert wakes(changed_status, {**WAL, "status": dict(status)}) == {brokers}
    status["kafka"] = {"brokers": {"total": 3, "online": 2, "items": [{"id": 1, "leaders": 2}]}}
    assert wakes(changed_status, {**WAL, "status": dict(status)}) == set()


def test_a_run_that_reaches_a_stage_wakes_those_that_wait_for_it_and_not_itself(changed_status: EventFilter) -> None:
    for stage in ("Preparation", "Purge", "Completed"):
        at_stage = {**RUN, "status": {"stage": stage, "entriesDeleted": 5}}
        assert wakes(changed_status, at_stage) == of(WAL, NIGHTLY, OTHER_RUN)
        assert wakes(changed_status, {**at_stage, "status": {"stage": stage, "entriesDeleted": 6}}) == set()


def test_a_hold_that_is_renewed_wakes_itself_only(changed_status: EventFilter) -> None:
    renewed = with_metadata(BACKUP, generation=2)
    renewed["spec"] = {**BACKUP["spec"], "renewTime": "2026-11-21T12:00:00Z"}
    assert wakes(changed_status, renewed) == of(BACKUP)


def test_a_hold_that_is_granted_wakes_the_runs_and_the_verification_that_placed_it(changed_status: EventFilter) -> None:
    assert wakes(changed_status, {**BACKUP, "status": {"state": "Active"}}) == of(
        WAL, RUN, OTHER_RUN, CHECK, COPY, HOURLY, MIRROR
    )


def test_a_verification_that_ends_wakes_the_runs_that_wait_for_it(changed_status: EventFilter) -> None:
    assert wakes(changed_status, {**CHECK, "status": {"stage": "Completed"}}) == of(WAL, RUN, OTHER_RUN)


def test_an_object_that_was_deleted_is_woken_no_more(changed_status: EventFilter) -> None:
    wakes(changed_status, RUN, deleted=True)
    assert wakes(changed_status, BACKUP, deleted=True) == of(BACKUP, WAL, OTHER_RUN, CHECK, COPY, HOURLY, MIRROR)


def test_the_dependents_are_those_of_kinds_that_there_are() -> None:
    kinds = {kind.kind for kind in KINDS}
    assert set(DEPENDENTS) == kinds
    assert {each for dependents in DEPENDENTS.values() for each in dependents} <= kinds
