"""GreptimeDB's answers as its versions give them (facts/greptimedb.md §5.3, §5.5)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from seawall.adapters.greptimedb.authorization import basic, require_entry, require_entry_as
from seawall.adapters.greptimedb.heartbeats import read_heartbeats
from seawall.adapters.greptimedb.interfaces import FRONTEND, METASRV, read_sql, read_switch
from seawall.adapters.http import Answer
from seawall.domain.dataplane.connection import NotReached, PartRefused, User
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole

REGION = 4398046511105
USER = User("seawall", "secret")
LARGEST = 2**64 - 1
MITO = {"Mito": {"manifest_version": 2, "flushed_entry_id": 7, "file_removed_cnt": 0}}
METRIC = {
    "Metric": {
        "data_manifest_version": 1,
        "data_flushed_entry_id": 7,
        "metadata_manifest_version": 1,
        "metadata_flushed_entry_id": 5,
    }
}
NUMBERS = ("rcus", "wcus", "approximate_bytes", "num_rows", "manifest_size", "sst_size", "sst_num", "index_size")


def region(**changes: Any) -> dict[str, Any]:
    return {
        "id": REGION,
        **dict.fromkeys(NUMBERS, 0),
        "engine": "mito",
        "role": "Leader",
        "memtable_size": 4096,
        "written_bytes": 12,
        "region_manifest": MITO,
        "data_topic_latest_entry_id": 9,
        "metadata_topic_latest_entry_id": 9,
        **changes,
    }


def stat(*regions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "timestamp_millis": 1795262400123,
        "id": 2,
        "addr": "10.0.0.2:3001",
        "rcus": 0,
        "wcus": 0,
        "region_num": len(regions),
        "region_stats": regions,
        "topic_stats": [{"topic": "t", "latest_entry_id": 9, "record_size": 1, "record_num": 1}],
        "node_epoch": 1795262000000,
        "datanode_workloads": {"types": []},
        **changes,
    }


def report(*regions: dict[str, Any], **changes: Any) -> DatanodeReport:
    (found,) = read_heartbeats(json.dumps([[stat(*regions, **changes)]]).encode())
    return found


def only(found: DatanodeReport) -> RegionReport:
    (region_report,) = found.regions
    return region_report


def test_a_region_of_mito() -> None:
    found = report(region())
    assert (found.datanode_id, found.address, found.node_epoch) == (2, "10.0.0.2:3001", 1795262000000)
    assert found.reported_at == datetime(2026, 11, 21, 12, 0, 0, 123000, tzinfo=UTC)
    assert only(found) == RegionReport(
        region_id=REGION,
        datanode_id=2,
        node_epoch=1795262000000,
        role=RegionRole.LEADER,
        reported_at=found.reported_at,
        engine="mito",
        memtable_bytes=4096,
        data=InnerReport(7, 9),
    )


def test_a_region_of_the_metric_engine_reports_its_metadata_region_too() -> None:
    found = only(report(region(engine="metric", region_manifest=METRIC, metadata_topic_latest_entry_id=8)))
    assert found.inner() == (InnerReport(7, 9), InnerReport(5, 8))


def test_an_idle_id_of_0_is_none_and_a_flushed_id_of_0_is_0() -> None:
    fresh = {"Mito": {"manifest_version": 0, "flushed_entry_id": 0}}
    found = only(report(region(region_manifest=fresh, data_topic_latest_entry_id=0)))
    assert found.data == InnerReport(flushed_entry_id=0, idle_entry_id=None)


def test_versions_that_report_no_idle_ids() -> None:
    old = {name: value for name, value in region().items() if not name.endswith("_topic_latest_entry_id")}
    assert only(report(old)).data == InnerReport(7, None)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("Leader", RegionRole.LEADER),
        ("Follower", RegionRole.FOLLOWER),
        ("StagingLeader", RegionRole.STAGING),
        ("DowngradingLeader", RegionRole.DOWNGRADING),
        ("Emperor", RegionRole.UNKNOWN),
        ("Unknown", RegionRole.UNKNOWN),
    ],
)
def test_roles(role: str, expected: RegionRole) -> None:
    assert only(report(region(role=role))).role is expected


def test_region_ids_and_entry_ids_beyond_a_float_survive() -> None:
    large = {"Mito": {"manifest_version": 1, "flushed_entry_id": LARGEST - 1}}
    found = only(report(region(id=LARGEST, region_manifest=large, data_topic_latest_entry_id=2**53 + 1)))
    assert (found.region_id, found.data) == (LARGEST, InnerReport(LARGEST - 1, 2**53 + 1))


def test_a_datanode_without_regions() -> None:
    assert not report().regions


@pytest.mark.parametrize(
    "senseless",
    [
        {"id": float(2**53)},
        {"id": -1},
        {"id": 2**64},
        {"id": "7"},
        {"region_manifest": {"Mito": {}}},
        {"region_manifest": {"Mito": {"flushed_entry_id": 7.0}}},
        {"region_manifest": {"Mito": {"flushed_entry_id": -1}}},
        {"region_manifest": None},
        {"data_topic_latest_entry_id": -1},
    ],
)
def test_what_makes_no_sense_is_refused(senseless: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=r"^(Expected|Object missing) .* at `\$\.region_stats\[0\]|^a number is no u64"
    ):
        report(region(**senseless))


@pytest.mark.parametrize("beyond", ["node_epoch", "id", "timestamp_millis"])
def test_a_number_that_is_none_anywhere_refuses_the_answer(beyond: str) -> None:
    with pytest.raises(ValueError, match="a number is no u64, or a time is none"):
        report(region(), **{beyond: 2**64})
    with pytest.raises(ValueError, match="a number is no u64"):
        report(region(), topic_stats=[{"topic": "t", "latest_entry_id": 2**64}])


def test_a_manifest_of_an_unknown_engine_has_no_flushed_id() -> None:
    assert only(report(region(engine="file", region_manifest={"File": {}}))).data == InnerReport(None, 9)


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises((ValueError, OverflowError)):
        report(timestamp_millis=2**62)


def test_only_the_newest_heartbeat_of_each_datanode_is_read() -> None:
    old, new, other = stat(region(), timestamp_millis=1), stat(timestamp_millis=2), stat(id=7)
    for indent in (None, 1):
        found = read_heartbeats(json.dumps([[old, new], [], [other]], indent=indent).encode() + b"\n")
        assert [(each.datanode_id, len(each.regions)) for each in found] == [(2, 0), (7, 0)]


@pytest.mark.parametrize("body", [b"[]", b" [ ] \n", b"[[],[]]"])
def test_a_metasrv_that_has_no_reports(body: bytes) -> None:
    assert read_heartbeats(body) == []


WHOLE = json.dumps([[stat(region())], [stat()]]).encode()


@pytest.mark.parametrize("length", [0, 1, 2, 3, 40, len(WHOLE) // 2, len(WHOLE) - 2, len(WHOLE) - 1])
def test_heartbeats_that_are_cut_short_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_heartbeats(WHOLE[:length])


@pytest.mark.parametrize(
    "body",
    [b"{}", b"null", b"[[1]]", b"[{}]", b"[[],]", b"[[]", b"[] []", b"[[][]]", b'["a"]', b"\xff", b"<html>", b"[[[]]]"],
)
def test_what_is_no_list_of_heartbeats_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_heartbeats(body)


def test_a_switch() -> None:
    assert read_switch(b'{"enabled":true}') is True
    assert read_switch(b'{"enabled":false,"more":1}') is False
    for body in (b"true", b"{}", b'{"enabled":"true"}'):
        with pytest.raises(ValueError, match=r".*"):
            read_switch(body)


def sql(**answer: Any) -> bytes:
    return json.dumps({**answer, "execution_time_ms": 5}).encode()


def test_a_statement_that_worked() -> None:
    records = {"schema": {"column_schemas": [{"name": "x", "data_type": "UInt64"}]}, "rows": [[1]], "total_rows": 1}
    assert read_sql(sql(output=[{"records": records}])) is None
    assert read_sql(sql(output=[{"affectedrows": 1}])) is None


@pytest.mark.parametrize(
    ("code", "final"),
    [
        (1003, False),
        (1004, True),
        (1008, False),
        (1009, False),
        (1010, True),
        (4001, True),
        (4005, True),
        (4007, False),
        (4008, False),
        (4009, False),
        (4010, False),
        (4011, True),
        (6001, False),
        (9999, True),
    ],
)
def test_a_statement_that_failed(code: int, final: bool) -> None:  # noqa: FBT001 - a table
    assert read_sql(sql(code=code, error="why")) == FlushFailure(f"{code}: why", final=final)


@pytest.mark.parametrize(
    ("status", "body", "user", "sentence"),
    [
        (
            401,
            sql(code=7003),
            None,
            "401 (code 7003): it wants a user name and password, set dataPlane.greptimedb.auth",
        ),
        (401, sql(code=7000), USER, "401 (code 7000): it refused the user name or password, correct the Secret"),
        (401, b"<html>", USER, "401: it refused the user name or password, correct the Secret"),
        (403, sql(code=7006), USER, "403 (code 7006): the user may not do this, let it read and write"),
        (403, b"", USER, "403: the user may not do this, let it read and write"),
        (403, b'{"code":"7006"}', None, "403: it wants a user name and password"),
    ],
)
def test_who_is_not_let_in_is_told_why(status: int, body: bytes, user: User | None, sentence: str) -> None:
    with pytest.raises(PartRefused) as refused:
        require_entry_as(user, Answer(status, body), FRONTEND, "https://db:4000/v1/sql")
    assert refused.value.why is NotReached.AUTHENTICATION_FAILED
    assert str(refused.value).startswith(f"the frontend at https://db:4000 answers {sentence}")


def test_a_region_that_is_read_only_is_no_matter_of_users() -> None:
    """GreptimeDB answers 401 then, too."""
    answer = Answer(401, sql(code=4007, error="Region is read-only"))
    require_entry_as(USER, answer, FRONTEND, "https://db:4000")
    assert read_sql(answer.body) == FlushFailure("4007: Region is read-only", final=False)


@pytest.mark.parametrize("status", [200, 400, 404, 500, 503])
def test_other_answers_say_nothing_of_users(status: int) -> None:
    require_entry_as(None, Answer(status, sql(code=7003)), FRONTEND, "https://db:4000")
    require_entry(Answer(status, b""), METASRV, "https://db:4000")


@pytest.mark.parametrize("status", [401, 403])
def test_a_metasrv_with_users_is_a_proxy(status: int) -> None:
    with pytest.raises(PartRefused, match=rf"answers {status}, so a proxy before it wants a user") as refused:
        require_entry(Answer(status, b""), METASRV, "https://db:4000")
    assert refused.value.why is NotReached.AUTHENTICATION_FAILED


def test_a_user_is_sent_in_utf8() -> None:
    assert basic(None) == {}
    assert basic(User("ü", "a:ß")) == {"Authorization": "Basic w7w6YTrDnw=="}


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"code":"1"}'])
def test_what_is_no_answer_to_a_statement(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_sql(body)
