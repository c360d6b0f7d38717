"""Requests: the contract's one is read, and each bad one is refused in a sentence."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay_verification.__main__ import main
from replay_verification.request import Level, Region, parse_request, read_request
from sparkjob.errors import Refused
from sparkjob.outcome import Outcome
from sparkjob.request_file import check_digest

CONTRACT = Path(__file__).parents[1] / "contract" / "request.json"
Asked = dict[str, Any]


def test_the_request_of_the_contract_is_read() -> None:
    request = read_request(str(CONTRACT))
    assert request.level is Level.INTEGRITY
    assert request.digest == hashlib.sha256(CONTRACT.read_bytes()).hexdigest()
    (topic,) = request.topics
    assert (topic.name, topic.start, topic.end) == ("wal_0", 20, 4711)
    assert topic.regions == (Region(4398046511104, 20, 19), Region(4398046511105, 31, 30))
    assert request.kafka.sasl is not None
    assert request.kafka.tls is not None
    assert request.kafka.tls.key_file is None
    assert request.database_version == "1.1.3"


def test_a_request_of_before_does_not_tell_the_version_of_the_database() -> None:
    asked = json.loads(CONTRACT.read_bytes())
    asked["version"] = 1
    del asked["databaseVersion"]
    assert parse_request(json.dumps(asked).encode()).database_version is None


def test_a_gzipped_request_has_the_digest_of_what_is_in_it(tmp_path: Path) -> None:
    packed = tmp_path / "request.json.gz"
    packed.write_bytes(gzip.compress(CONTRACT.read_bytes()))
    assert read_request(str(packed)) == read_request(str(CONTRACT))


def test_a_request_that_the_program_was_not_started_for_is_refused_before_anything_is_done_with_it(
    tmp_path: Path,
) -> None:
    """No Spark is started and no file of Kafka's connection is read: the contract's are not there."""
    summary = tmp_path / "summary.json"
    asked_for = "0" * 64
    arguments = ["--request", str(CONTRACT), "--report", "-", "--summary", str(summary), "--digest", asked_for]
    assert main(arguments) == Outcome.REFUSED.exit_code
    found = json.loads(summary.read_bytes())
    digest = hashlib.sha256(CONTRACT.read_bytes()).hexdigest()
    assert (found["requestDigest"], found["message"]) == (
        digest,
        f"the request has digest {digest}, and this application was made for {asked_for}",
    )


def test_a_request_that_the_program_was_started_for_is_worked_on() -> None:
    request = read_request(str(CONTRACT))
    for digest in (request.digest, None):
        check_digest(request.digest, digest)


def _set(*path: str | int, to: Any) -> Callable[[Asked], None]:
    def change(asked: Asked) -> None:
        inner: Any = asked
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_set("version", to=3), "request has version 3; this program reads version 1 and 2"),
        (_set("version", to=True), "request has version True; this program reads version 1 and 2"),
        (_set("databaseVersion", to=1.1), "request.databaseVersion is no str"),
        (
            _set("level", to="Everything"),
            "request.level is Everything, which is none of Coverage, Integrity, Equivalence",
        ),
        (
            _set("level", to="Equivalence"),
            "level Equivalence compares with a snapshot, and the request has none: give snapshot.uri",
        ),
        (_set("snapshot", to={}), "request.snapshot.uri is missing"),
        (_set("topics", to=[]), "the request has no topics"),
        (
            _set("topics", 0, "to", to=19),
            "topic wal_0 is asked for from offset 20 to 19: the range ends before it begins",
        ),
        (_set("topics", 0, "from", to=-1), f"request.topics[0].from is -1, not a number from 0 to {2**63 - 1}"),
        (_set("topics", 0, "to", to="9"), "request.topics[0].to is no int"),
        (_set("topics", 0, "from", to=21), "topic wal_0 is asked for from offset 21, but a region of it reads from 20"),
        (_set("topics", 0, "regions", 1, "id", to=4398046511104), "topic wal_0 names a region twice"),
        (_set("kafka", "bootstrapServers", to=[]), "request.kafka.bootstrapServers is empty"),
        (_set("kafka", to=None), "request.kafka is not a JSON object"),
    ],
)
def test_a_bad_request_is_refused(change: Callable[[Asked], None], sentence: str) -> None:
    asked = json.loads(CONTRACT.read_bytes())
    change(asked)
    with pytest.raises(Refused) as refused:
        parse_request(json.dumps(asked).encode())
    assert str(refused.value) == sentence


def test_a_topic_that_is_named_twice_is_refused() -> None:
    asked = json.loads(CONTRACT.read_bytes())
    asked["topics"] *= 2
    with pytest.raises(Refused, match="names a topic twice"):
        parse_request(json.dumps(asked).encode())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_what_is_no_request_is_refused(content: bytes) -> None:
    with pytest.raises(Refused):
        parse_request(content)


def test_a_file_that_is_not_there_or_not_whole_is_refused(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(CONTRACT.read_bytes())[:-20])
    for path in (str(tmp_path / "none.json"), str(cut)):
        with pytest.raises(Refused, match="cannot be read"):
            read_request(path)
