"""The examples of `contract/` are what the program reads and writes; bad requests are refused with their place."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkjob.errors import Refused
from sparkjob.outcome import Outcome
from sparkjob.s3 import S3
from wal_backup.__main__ import main
from wal_backup.check import find_unnamed
from wal_backup.expiry import Expired, Problem
from wal_backup.findings import Finding, Kind
from wal_backup.manifest import Parent, digest_of_manifest, parse_manifest
from wal_backup.request import Level, parse_backup, parse_chain, parse_check
from wal_backup.restore.plan import Plan, find_stretch, plan_topic
from wal_backup.restore.request import Before, Needs, parse_plan, parse_restore
from wal_backup.restore.run import TopicEnd, about, answer_of, ranges_of
from wal_backup.store import Folder
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
    assert request.expiry is not None
    assert [(each.name, each.full.digest[0]) for each in request.expiry.chains] == [("greptimedb-2611010200", "1")]
    assert [(each.name, each.full.digest[0]) for each in request.expiry.stays] == [("greptimedb-2611080200", "2")]


def test_a_summary_with_all_that_was_deleted_is_no_longer_than_kubernetes_keeps() -> None:
    names = tuple(f"{number}".rjust(63, "n") for number in range(8))
    expired = Expired(names, Problem.LEFT_ALONE, '"' * 999).to_json()
    details = {
        name: example("summary.json")[name] for name in ("manifest", "counts", "restorePoint", "verified", "warnings")
    }
    assert len(summarize(Outcome.PASSED, "é" * 400, "0" * 64, (), {**details, "expired": expired})) < MOST_BYTES


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


def test_a_plan_is_written_as_its_example_and_its_digest_is_what_the_restore_names() -> None:
    manifest = parse_manifest(gzip.compress((CONTRACT / "manifest.json").read_bytes()), "manifest.json")
    stretch = find_stretch([{topic.name: topic for topic in manifest.topics}], "wal_0")
    request = parse_restore((CONTRACT / "restore.json").read_bytes())
    topic = plan_topic(stretch, stretch.end, request.plan.pad_to["wal_0"])
    digest = example("summary.json")["manifest"]["digest"]
    plan = Plan(manifest.cluster_id, manifest.chain, Parent(manifest.name, digest), (topic,), (), ())
    assert json.loads(plan.to_bytes()) == example("planned.json")
    assert plan.digest == request.plan_digest
    wanted = example("plan-summary.json")
    written = summarize(Outcome.PASSED, wanted["message"], wanted["requestDigest"], (), about(plan, ("wal_0", "wal_1")))
    assert json.loads(written) == wanted
    wanted, answer = example("restored-summary.json"), answer_of(plan, [TopicEnd("wal_0", (), None)])
    assert json.loads(summarize(answer.outcome, answer.message, wanted["requestDigest"], (), answer.details)) == wanted
    wanted = example("restore-summary.json")
    message, finding = wanted["findings"][0]["message"], wanted["findings"][0]
    found = Finding(Kind.NOT_OURS, message, None, finding["topic"], finding["offset"])
    answer = answer_of(plan, [TopicEnd("wal_0", (found,), None)])
    written = summarize(answer.outcome, answer.message, wanted["requestDigest"], answer.findings, answer.details)
    assert json.loads(written) == wanted


def test_the_requests_of_a_plan_and_a_restore_are_read() -> None:
    plan = parse_plan((CONTRACT / "plan.json").read_bytes())
    assert (plan.names, plan.needs) == (("wal_0", "wal_1"), {"wal_0": Needs(20, 4800)})
    assert (plan.chain, plan.target, plan.pad_to) == (
        "greptimedb-2611220200",
        Before(1_795_544_940_000),
        {"wal_0": 4800},
    )
    restore = parse_restore((CONTRACT / "restore.json").read_bytes())
    assert replace(restore.plan, target=plan.target) == plan
    assert (restore.cluster_id, list(restore.topic_ids)) == ("q1Sh-9_ISia_zwGINzRvyQ", ["wal_0"])


def test_a_drill_is_read_and_answered_as_its_examples() -> None:
    drill, scratch = (
        parse_restore((CONTRACT / "drill.json").read_bytes()),
        "seawall-scratch-greptimedb-d2611280400-0f6b2f7e-0",
    )
    assert (drill.into, list(drill.topic_ids)) == ({"wal_0": scratch}, [scratch])
    assert (drill.level, drill.database_version) == (Level.INTEGRITY, "1.1.3")
    plain = parse_restore((CONTRACT / "restore.json").read_bytes())
    assert (plain.into, plain.level, plain.database_version) == ({}, Level.CHECKSUMS, None)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [{"name": "a", "into": "x", "topicId": "1"}, {"name": "b", "into": "x", "topicId": "2"}],
            "names a topic twice",
        ),
        ([{"name": "a", "into": "b", "topicId": "1"}, {"name": "b", "topicId": "2"}], "names a topic twice"),
        ([{"name": "a", "into": "", "topicId": "1"}], "into is empty"),
    ],
)
def test_two_topics_are_never_written_to_one(rows: list[dict[str, str]], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        parse_restore(json.dumps({**example("drill.json"), "topics": rows}).encode())


def test_the_places_of_planned_topics_are_written_as_ranges_and_fit_a_summary() -> None:
    assert ranges_of([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
    assert ranges_of([]) == ""
    assert len(ranges_of(range(0, 1_000, 2))) < MOST_BYTES // 2


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_manifest_with_one_bit_flipped_is_refused_or_another_manifest(*, is_packed: bool) -> None:
    """And nothing else: what is no refusal would be tried again for ever."""
    plain = (CONTRACT / "manifest.json").read_bytes()
    content = gzip.compress(plain, mtime=0) if is_packed else plain
    digests = set[str]()
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        stored = bytes(flipped) if is_packed else gzip.compress(flipped, compresslevel=1, mtime=0)
        digests.add(digest_of_manifest(stored))
        with suppress(Refused):
            parse_manifest(stored, "flipped")
    assert len(digests) == 8 * len(content)


def test_the_summary_has_these_members() -> None:
    wanted = example("summary.json")
    details = {name: wanted[name] for name in ("manifest", "counts", "restorePoint", "verified", "expired", "warnings")}
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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (edit("plan", "version", to=2), "request.plan has version 2"),
        (edit("plan", "backup", to="../x.json.gz"), "request.plan.backup is '../x.json.gz'"),
        (edit("plan", "backup", to="full"), "a manifest's name ends in .json.gz"),
        (edit("plan", "chain", to="../other"), "request.plan.chain is '../other'"),
        (edit("plan", "topics", to=[]), "request.plan.topics is empty"),
        (edit("plan", "target", to={}), "must have one of latest: true, time, offsets and point"),
        (edit("plan", "target", to={"latest": False}), "must have one of latest: true, time, offsets and point"),
        (edit("plan", "target", to={"latest": True, "offsets": {}}), "must have one of"),
        (edit("plan", "target", to={"time": "yesterday"}), "no time of RFC 3339"),
        (edit("plan", "target", to={"time": "2026-11-24T18:29:00"}), "no time of RFC 3339"),
        (edit("plan", "target", to={"offsets": {"wal_0": -1}}), "request.plan.target.offsets.wal_0 is -1"),
        (edit("plan", "padTo", to={"wal_0": "9"}), "request.plan.padTo.wal_0 is no int"),
        (edit("kafka", "clusterId", to=None), "request.kafka.clusterId is missing"),
        (edit("planDigest", to=""), "request.planDigest is empty"),
        (edit("topics", to=[{"name": "a", "topicId": "x"}] * 2), "names a topic twice"),
    ],
)
def test_a_bad_request_of_a_restore_is_refused(change: Callable[[Any], None], sentence: str) -> None:
    data = example("restore.json")
    change(data)
    with pytest.raises(Refused, match=sentence):
        parse_restore(json.dumps(data).encode())


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
