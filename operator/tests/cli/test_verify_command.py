"""`seawall verify`: makes a verification as the schedule would, and tells how it goes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import pytest

from seawall.api.v1alpha1.spark_spec import SparkOverrides
from seawall.api.v1alpha1.verification import WALVerificationSpec
from seawall.cli import verify as cli
from seawall.domain.errors import Refused
from tests.worlds.purge_world import CLUSTER

BASE = "/apis/seawall.dev/v1alpha1/namespaces/db"
METADATA = {
    "namespace": "db",
    "name": "wal",
    "uid": "u",
    "generation": 1,
    "resourceVersion": "1",
    "creationTimestamp": "2026-11-22T06:00:00Z",
}
SCHEDULE = {
    "schedule": "0 3 * * *",
    "level": "Coverage",
    "spark": {"image": "replay-verification:1", "executors": 4, "memory": "2Gi"},
    "report": {"persistentVolumeClaim": "reports"},
}


class FakeApi:
    """A WALCluster, and what was created; `statuses` are what is read of it one after another."""

    def __init__(self, schedule: Mapping[str, Any] | None = None, *statuses: Mapping[str, Any] | None) -> None:
        undeclared = {name: value for name, value in CLUSTER.items() if name != "verification"}
        spec = undeclared if schedule is None else {**CLUSTER, "verification": dict(schedule)}
        self.cluster = {"metadata": METADATA, "spec": spec}
        self.created: list[Mapping[str, Any]] = []
        self.statuses = list(statuses)

    def get(self, path: str) -> dict[str, Any] | None:
        if path == f"{BASE}/walclusters/wal":
            return self.cluster
        if not path.startswith(f"{BASE}/walverifications/wal-by-hand-"):
            return None
        status = self.statuses.pop(0)
        return None if status is None else {"status": dict(status)}

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        assert path == f"{BASE}/walverifications"
        self.created.append(body)


def run(api: FakeApi, *arguments: str) -> list[str]:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return list(cli.verify(parser.parse_args(["wal", "-n", "db", *arguments]), api, lambda: None))


def spec_of(api: FakeApi) -> WALVerificationSpec:
    (body,) = api.created
    return WALVerificationSpec.model_validate(body["spec"], by_alias=True, by_name=False)


def status(stage: str, message: str, **more: Any) -> dict[str, Any]:
    return {"stage": stage, "conditions": [{"type": "Ready", "status": "False", "message": message}], **more}


def test_what_the_schedule_says_is_taken() -> None:
    api = FakeApi(SCHEDULE)
    (reported,) = run(api)
    spec = spec_of(api)
    assert reported == f"walverification/{api.created[0]['metadata']['name']} created"
    assert spec.level == "Coverage"
    assert spec.spark == SparkOverrides(), "what runs is read from the WALCluster when it runs"
    assert spec.report is not None
    assert spec.topics == ("*",)


def test_arguments_come_before_the_schedule() -> None:
    api = FakeApi(SCHEDULE)
    run(api, "--level", "Integrity", "-t", "a_*", "-t", "b")
    spec = spec_of(api)
    assert spec.level == "Integrity"
    assert spec.topics == ("a_*", "b")


def test_without_a_schedule_an_image_is_enough() -> None:
    api = FakeApi({"spark": {"image": "replay-verification:1"}})
    run(api)
    assert (spec_of(api).level, spec_of(api).topics) == ("Integrity", ("*",))


def test_without_an_image_nothing_is_made() -> None:
    api = FakeApi()
    with pytest.raises(Refused, match=r"set its spec\.verification\.spark\.image"):
        run(api)
    assert not api.created


def test_a_cluster_that_is_not_there_is_told() -> None:
    api = FakeApi(SCHEDULE)
    arguments = argparse.Namespace(walcluster="other", namespace="db", local=False, report=None)
    with pytest.raises(Refused, match="there is no WALCluster db/other"):
        list(cli.verify(arguments, api, lambda: None))


def test_how_it_goes_is_told_once_each() -> None:
    steps = (status("Holding", "waits"), status("Running", "runs"), status("Running", "runs"))
    api = FakeApi(SCHEDULE, {}, *steps, status("Completed", "3 topics replay", report="file:///reports/x.json"))
    assert run(api, "--wait")[1:] == [
        "Pending: ",
        "Holding: waits",
        "Running: runs",
        "report: file:///reports/x.json",
        "Completed: 3 topics replay",
    ]


def test_a_log_that_does_not_replay_is_an_error_with_its_first_bad_offset() -> None:
    finding = {
        "kind": "OrphanPart",
        "severity": "Error",
        "topic": "wal_0",
        "offset": 130,
        "region": "4398046511104",
        "message": "Middle(2) is missing",
    }
    api = FakeApi(SCHEDULE, status("Failed", "1 error in 1 topic", findings=[finding]))
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    pieces = cli.verify(parser.parse_args(["wal", "-n", "db", "--wait"]), api, lambda: None)
    next(pieces)
    assert next(pieces) == "Error: topic wal_0 offset 130 region 4398046511104: OrphanPart: Middle(2) is missing"
    with pytest.raises(Refused, match="the verification failed: 1 error in 1 topic"):
        next(pieces)


def test_a_verification_that_goes_while_it_is_waited_for_is_told() -> None:
    with pytest.raises(Refused, match="deleted before it was over"):
        run(FakeApi(SCHEDULE, None), "--wait")


def test_a_place_for_the_report_is_not_passed_over() -> None:
    api = FakeApi(SCHEDULE)
    with pytest.raises(Refused, match="--report goes with --local"):
        run(api, "--report", "s3://reports/x")
    assert api.created == []
