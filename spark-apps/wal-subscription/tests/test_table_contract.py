"""The examples of `contract/` are what the sink of tables reads and writes; bad requests are told their place."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pytest

from sparkjob.bucket import Bucket
from sparkjob.errors import Refused
from sparkjob.s3 import S3
from wal_subscription.requests import parse_any
from wal_subscription.table.chain import chain_folder
from wal_subscription.table.commit import parse_commit
from wal_subscription.table.request import TableRequest, Topic, parse_table_request

CONTRACT = Path(__file__).parents[1] / "contract"


def example(folder: Path) -> Any:
    """The request, with keys in a folder."""
    request = json.loads((CONTRACT / "table-request.json").read_bytes())
    for name, text in (("accessKeyId", "key\n"), ("secretAccessKey", "secret\n")):
        (folder / name).write_text(text)
        request["table"]["s3"][f"{name}File"] = str(folder / name)
    return request


def changed(folder: Path, path: str, value: Any) -> bytes:
    """The same with one member that is another one."""
    request = example(folder)
    *folders, name = path.split(".")
    inner = request
    for each in folders:
        inner = inner[each]
    inner[name] = value
    return json.dumps(request).encode()


def test_a_request_is_read(tmp_path: Path) -> None:
    request = parse_any(json.dumps(example(tmp_path)).encode())
    assert isinstance(request, TableRequest)
    assert (request.whom, request.run, request.milliseconds, request.drops_repeats) == ("db/lake", 3, 1000, True)
    assert request.topics[1] == Topic("wal_1", "Zt0cV1x1Q4uQnL0uQ7cM0g", 1, 0, 310)
    sink = request.sink
    assert (sink.commit_milliseconds, sink.most_bytes, sink.keeps_dead_letters) == (30_000, 128 << 20, True)
    assert sink.place() == S3(
        "lake", "greptimedb", "eu-central-1", "https://s3.example.org", None, "key", "secret", path_style=True
    )
    (tmp_path / "accessKeyId").write_text("rotated")
    assert sink.place().access_key_id == "rotated"
    assert [request.selection.has(table) for table in (1024, 1025, 1026, 1027)] == [True, False, False, None]


def test_what_is_not_said_is_as_the_page_says(tmp_path: Path) -> None:
    request = example(tmp_path)
    for name in ("commitMilliseconds", "maxFileBytes", "deadLetters"):
        del request["table"][name]
    del request["table"]["s3"]["pathStyle"]
    sink = parse_table_request(json.dumps(request).encode()).sink
    assert (sink.commit_milliseconds, sink.most_bytes, sink.keeps_dead_letters) == (30_000, 128 << 20, False)
    assert sink.place().is_path_style
    assert not S3("b", "", "r").is_path_style
    assert S3("b.example", "", "r").is_path_style, "no certificate is of such a host"
    assert parse_table_request(json.dumps(request).encode()).snapshot_uri is None
    begins = json.dumps({**request, "snapshot": {"uri": "file:///snapshot/may/"}}).encode()
    assert parse_table_request(begins).snapshot_uri == "file:///snapshot/may"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("version", 2, "request has version 2"),
        ("source.clusterId", None, "request.source.clusterId is missing"),
        ("table.s3", None, "request.table.s3 is not a JSON object"),
        ("table.s3.bucket", "", "request.table.s3.bucket is empty"),
        ("table.s3.accessKeyIdFile", None, "must have both accessKeyIdFile and secretAccessKeyFile"),
        ("table.s3.accessKeyIdFile", "/nobody", "/nobody, which the request names for the store, cannot be read"),
        ("table.s3.pathStyle", 1, "request.table.s3.pathStyle is no bool"),
        ("table.writer", "a/b", "request.table.writer is 'a/b': letters, digits"),
        ("table.commitMilliseconds", 99, "request.table.commitMilliseconds is 99, not a number from 100 to 3600000"),
        ("table.maxFileBytes", 5 << 30, "request.table.maxFileBytes is 5368709120, not a number from 1024"),
        ("tables.include", None, "request.tables.include is missing"),
        ("topics", [], "the request has no topics"),
    ],
)
def test_a_bad_request_is_refused_with_its_place(path: str, value: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_table_request(changed(tmp_path, path, value))


def test_a_commit_is_read_as_it_is_written_and_anything_else_is_none() -> None:
    content = (CONTRACT / "commit.json").read_bytes()
    of_snapshot = (CONTRACT / "commit-of-snapshot.json").read_bytes()
    commit = parse_commit(content)
    assert commit is not None
    for each in (content, of_snapshot):
        parsed = parse_commit(each)
        assert parsed is not None
        assert json.loads(parsed.to_bytes()) == json.loads(each)
    progress = commit.progress
    folder = chain_folder(progress.writer, progress.topic, progress.topic_id, 0)
    assert commit.letters[0].path.startswith(f"{folder}/dead/")
    for other in (b"", b"{", b"[]", b'{"version":2}', b'{"version":1}', b"\xff"):
        assert parse_commit(other) is None


@pytest.mark.parametrize(
    ("place", "url"),
    [
        (S3("lake", "", "eu-central-1", access_key_id="k", secret_access_key="s"), "https://lake.s3.eu-central-1."),
        (S3("lake", "", "r", "https://s3.example.org/", None, "k", "s"), "https://s3.example.org/lake/a"),
        (
            S3("lake", "", "r", "https://s3.example.org", None, "k", "s", path_style=False),
            "https://lake.s3.example.org/a",
        ),
    ],
)
def test_a_bucket_is_addressed_as_the_request_says(place: S3, url: str) -> None:
    assert obstore.sign(Bucket(place)._store, "GET", "a", timedelta(minutes=1)).startswith(url)


@pytest.mark.parametrize(
    "place",
    [
        S3("lake", "", "r", "https://s3.example.org", "/nobody", "k", "s"),
        S3("lake", "", "r", "https://s3.example.org", __file__, "k", "s"),
    ],
)
def test_an_address_that_is_none_is_refused(place: S3) -> None:
    with pytest.raises(Refused, match="the store cannot be asked"):
        Bucket(place)
