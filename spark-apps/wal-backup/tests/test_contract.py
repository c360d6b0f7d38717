"""The examples of `contract/` are what the program reads and writes; bad requests are refused with their place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkjob.errors import Refused
from sparkjob.outcome import Outcome
from wal_backup.__main__ import main
from wal_backup.check import find_unnamed
from wal_backup.findings import Finding, Kind
from wal_backup.manifest import parse_manifest
from wal_backup.request import Level, parse_backup, parse_chain, parse_check
from wal_backup.store import S3, Folder
from wal_backup.summary import MOST_BYTES, summarize

CONTRACT = Path(__file__).parents[1] / "contract"


def example(name: str) -> Any:
    return json.loads((CONTRACT / name).read_bytes())


def test_the_request_of_a_backup_is_read() -> None:
    request = parse_backup((CONTRACT / "backup.json").read_bytes())
    assert isinstance(request.place, S3)
    assert (request.chain, request.attempt, request.topics[0].regions[0].reads_from) == ("greptimedb-2611220200", 1, 20)
    assert request.parent is not None
    assert (request.verify, request.database_version) == (Level.INTEGRITY, "1.1.3")


def test_the_request_about_chains_is_read() -> None:
    request = parse_chain((CONTRACT / "chains.json").read_bytes())
    assert (request.place, request.chain) == (Folder("/backups"), None)


def test_the_request_of_a_check_is_read() -> None:
    request = parse_check((CONTRACT / "check.json").read_bytes())
    assert request.chains.place == Folder("/backups")
    assert (request.level, request.database_version) == (Level.INTEGRITY, "1.1.3")


@pytest.mark.parametrize(
    ("level", "sentence"),
    [
        (None, "request.level is missing"),
        ("None", "request.level is None, which is none of Checksums, Integrity"),
        ("Coverage", "request.level is Coverage"),
    ],
)
def test_a_check_that_would_prove_nothing_is_refused(level: str | None, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_check(json.dumps({**example("check.json"), "level": level}).encode())


def test_a_manifest_is_written_as_it_is_read_and_its_example_is_whole() -> None:
    manifest = parse_manifest(gzip.compress((CONTRACT / "manifest.json").read_bytes()), "manifest.json")
    assert json.loads(gzip.decompress(manifest.to_bytes())) == example("manifest.json")
    assert manifest.to_bytes() == manifest.to_bytes()
    assert list(find_unnamed(manifest)) == []
    (topic,) = manifest.topics
    (found,) = find_unnamed(replace(manifest, topics=(replace(topic, gaps=()),)))
    assert (found.kind, found.topic, found.offset) == (Kind.OFFSETS_MISSING, "wal_0", 4711)
    (other,) = find_unnamed(replace(manifest, objects=()))
    assert (other.kind, other.object) == (Kind.CHAIN_BROKEN, topic.sections[0].object)


def test_the_summary_has_these_members() -> None:
    wanted = example("summary.json")
    details = {name: wanted[name] for name in ("manifest", "counts", "verified", "warnings")}
    found = summarize(Outcome.PASSED, wanted["message"], wanted["requestDigest"], (), details)
    assert json.loads(found) == wanted


def test_a_summary_of_many_findings_fits_and_counts_them_all() -> None:
    many = [Finding(Kind.OBJECT_MISSING, "é" * 600, "o" * 200, "t" * 200, number) for number in range(1_000)]
    content = summarize(Outcome.FAILED, "é" * 5_000, "d" * 64, many)
    assert len(content) <= MOST_BYTES
    assert json.loads(content)["errors"] == 1_000


def edit(*path: str | int, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (edit("version", to=2), "request has version 2; this program reads version 1"),
        (edit("verify", to=None), "request.verify is missing"),
        (edit("verify", to="Some"), "request.verify is Some, which is none of None, Checksums, Integrity"),
        (edit("topics", to=[]), "the request has no topics"),
        (edit("topics", 0, "to", to=19), "topic wal_0 is asked for from offset 20 to 19"),
        (edit("topics", 0, "from", to=-1), r"request.topics\[0\].from is -1, not a number from 0"),
        (edit("kafka", "clusterId", to=None), "request.kafka.clusterId is missing"),
        (edit("kafka", "clusterId", to="../x"), "'../x' is no cluster id of Kafka"),
        (edit("chain", to="../other"), "request.chain is '../other'"),
        (edit("backup", "name", to="a/b"), "request.backup.name is 'a/b'"),
        (edit("storage", to={}), "request.storage must have one of s3 and folder"),
        (edit("storage", "s3", "accessKeyIdFile", to="/x"), "must have both accessKeyIdFile and secretAccessKeyFile"),
    ],
)
def test_a_bad_request_is_refused(change: Callable[[Any], None], sentence: str) -> None:
    data = example("backup.json")
    change(data)
    with pytest.raises(Refused, match=sentence):
        parse_backup(json.dumps(data).encode())


def test_another_request_than_the_one_it_was_started_for_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    arguments = ["backup", "--request", str(CONTRACT / "backup.json"), "--summary", str(summary), "--digest", "0" * 64]
    assert main(arguments) == Outcome.REFUSED.exit_code
    assert "this application was made for" in json.loads(summary.read_bytes())["message"]


def test_a_store_without_a_backup_is_refused(tmp_path: Path) -> None:
    request, summary = tmp_path / "request.json", tmp_path / "summary.json"
    data = {**example("chains.json"), "storage": {"folder": {"path": str(tmp_path)}}}
    request.write_text(json.dumps(data))
    assert main(["inspect", "--request", str(request), "--summary", str(summary)]) == Outcome.REFUSED.exit_code
    assert "the store has no backup of Kafka" in json.loads(summary.read_bytes())["message"]
