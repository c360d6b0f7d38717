"""`seawall backup begin|end|list`: a person makes a restore point in two words, and sees what there is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import pytest

from seawall.api.meta import SNAPSHOT_ANNOTATION
from seawall.api.v1alpha1.backup import WALBackupSpec
from seawall.cli import backup as cli
from seawall.domain.errors import Refused

BASE = "/apis/seawall.dev/v1alpha1/namespaces/db/walbackups"


class FakeApi:
    """A WALBackup, whose statuses are read one after another, and what was asked."""

    def __init__(self, *statuses: Mapping[str, Any] | None) -> None:
        self.statuses = list(statuses)
        self.created: list[Mapping[str, Any]] = []
        self.merged: list[Mapping[str, Any]] = []

    def get(self, path: str) -> dict[str, Any] | None:
        if path == BASE:
            spec = {"clusterRef": {"name": "wal"}}
            found = enumerate(self.statuses)
            return {"items": [{"metadata": {"name": f"b{at}"}, "spec": spec, "status": each} for at, each in found]}
        assert path == f"{BASE}/before"
        status = self.statuses.pop(0)
        if status is None:
            return None
        annotations = dict[str, str]()
        for patch in self.merged:
            annotations |= patch["metadata"]["annotations"]
        return {"metadata": {"resourceVersion": "7", "annotations": annotations}, "status": dict(status)}

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        assert path == BASE
        self.created.append(body)

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        assert path == f"{BASE}/before"
        self.merged.append(patch)


def run(api: FakeApi, *arguments: str) -> list[str]:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return list(cli.backup(parser.parse_args([*arguments, "-n", "db"]), api, lambda: None))


def status(stage: str, message: str, bracketed: str = "False", **more: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "message": message}, {"type": "Bracketed", "status": bracketed}]
    return {"stage": stage, "conditions": conditions, **more}


def test_a_point_begins_when_the_log_is_held() -> None:
    api = FakeApi({}, status("Holding", "it places a hold"), status("Holding", "it is held", "True"))
    said = run(api, "begin", "before", "--cluster", "wal", "--continues", "full", "--timeout", "2h")
    assert said == [
        "walbackup/before created",
        "Pending: ",
        "Holding: it places a hold",
        (
            "The log is held: take the snapshot now, of the metadata first and then of the files; "
            "then `seawall backup end before --snapshot <its name>`."
        ),
    ]
    spec = WALBackupSpec.model_validate(api.created[0]["spec"])
    assert spec.bracket is not None
    assert (spec.bracket.name, spec.bracket.timeout.total_seconds()) == ("before", 7200)
    assert spec.parent_ref is not None


def test_a_log_that_cannot_be_held_begins_no_point() -> None:
    api = FakeApi(status("Failed", "wal_1 OffsetsUnknown"))
    with pytest.raises(Refused, match="the backup is Failed: wal_1 OffsetsUnknown"):
        run(api, "begin", "before", "--cluster", "wal")


def test_a_point_ends_with_what_its_snapshot_is_called() -> None:
    api = FakeApi(
        status("Holding", "held", "True"), status("Running", "it runs"), status("Completed", "all topics are there")
    )
    said = run(api, "end", "before", "--snapshot", "s3://snapshots/1")
    assert said == [
        "Running: it runs",
        "Completed: all topics are there",
        "Restore point before belongs to snapshot s3://snapshots/1: keep the two together.",
    ]
    assert api.merged == [
        {"metadata": {"resourceVersion": "7", "annotations": {SNAPSHOT_ANNOTATION: "s3://snapshots/1"}}}
    ]


def test_whoever_was_interrupted_ends_the_point_again_and_follows() -> None:
    api = FakeApi(status("Holding", "held", "True"), status("Running", "it runs"))
    with pytest.raises(IndexError):  # the interruption: no further look
        run(api, "end", "before", "--snapshot", "s")
    api.statuses = [status("Running", "it runs"), status("Completed", "all topics are there")]
    assert run(api, "end", "before", "--snapshot", "s")[-2] == "Completed: all topics are there"
    assert len(api.merged) == 1
    api.statuses = [status("Running", "it runs")]
    with pytest.raises(Refused, match="holds no log for a snapshot now"):
        run(api, "end", "before", "--snapshot", "another")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([None], "there is no WALBackup db/before"),
        ([status("Holding", "it is not granted yet")], "holds no log for a snapshot now: it is not granted yet"),
        ([status("Holding", "", "True"), None], "the backup was deleted before it was over"),
        ([status("Holding", "", "True"), status("Failed", "cut")], "there is no restore point before: cut"),
    ],
)
def test_what_is_no_point_is_said(found: list[Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        run(FakeApi(*found), "end", "before", "--snapshot", "s")


def test_a_snapshot_needs_a_name_that_a_verdict_has_room_for() -> None:
    for name in ("ü", "s" * 254, "a\nb"):
        with pytest.raises(Refused, match="at most 253 printable characters of ASCII"):
            run(FakeApi(status("Holding", "", "True")), "end", "before", "--snapshot", name)


def test_backups_are_listed_the_oldest_first_and_points_only_where_there_is_one() -> None:
    point = {"name": "before", "snapshot": "s3://1"}
    api = FakeApi(
        status("Holding", "", "True", restorePoint={"name": "later"}),
        status("Completed", "", completionTime="2026-11-25T08:00:00Z", restorePoint=point, chain="c", counts={}),
        status("Completed", "", completionTime="2026-11-25T07:00:00Z", counts={"records": 5, "storedBytes": 9}),
    )
    lines = run(api, "list")[0].splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "b2", "b1", "b0"]
    assert "before" in lines[2]
    assert "s3://1" in lines[2]
    assert "later" not in lines[3]
    assert run(FakeApi(), "list") == ["There are no WALBackups."]
