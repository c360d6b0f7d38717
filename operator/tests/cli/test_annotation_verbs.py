"""What the verbs write is what the operator reads; what is mistyped, or shown no more, is not written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seawall.api.meta import DEAD_ANNOTATION, PAUSED_ANNOTATION, READOPT_ANNOTATION, UNUSED_ANNOTATION
from seawall.cli.annotate import TRIES, annotate
from seawall.cli.annotation_verbs import VERBS
from seawall.cli.parser import build_parser
from seawall.domain.clocks import ServerTime, TrustedTime
from seawall.domain.errors import Conflict, Refused
from seawall.domain.ledger.declarations import (
    DeadRegions,
    Unused,
    parse_dead,
    parse_declaration,
    parse_grounds,
    parse_unused,
)
from seawall.domain.ledger.fence import Readoption, parse_readoption
from seawall.domain.managed_kafka.names import FORMAT_VOLUME_ANNOTATION
from seawall.domain.rollout.requests import parse_override
from seawall.domain.rollout.workload import (
    APPROVE_ROLLOUT_ANNOTATION,
    OVERRIDE_ANNOTATION,
    RESTART_ANNOTATION,
    RESTART_KAFKA_ANNOTATION,
)
from tests.domain.two_clocks import agreed

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
TIME = TrustedTime(NOW, ServerTime(NOW, timedelta(seconds=1), timedelta(0)))
PATH = "/apis/seawall.dev/v1alpha1/namespaces/db/walclusters/wal"
BROKEN = {"type": "WALIntact", "status": "False", "reason": "IdentityFenceBroken", "message": "wal_0 is another log"}


class Server:
    """An API server with one WALCluster, whose version changes whenever somebody writes or it is told to."""

    host = "https://api:6443"

    def __init__(self, *conditions: Mapping[str, str]) -> None:
        self.object: dict[str, Any] = {
            "metadata": {"name": "wal", "uid": "1", "resourceVersion": "1", "annotations": {}},
            "status": {"conditions": list(conditions), "reassignment": {"digest": "abc"}},
        }
        self.between: Callable[[], None] = lambda: None

    def get(self, path: str) -> dict[str, Any] | None:
        if path != PATH:
            return None
        found = {**self.object, "metadata": dict(self.object["metadata"])}
        self.between()
        return found

    def create(self, path: str, body: Mapping[str, Any]) -> None:
        raise AssertionError((path, body))

    def merge(self, path: str, patch: Mapping[str, Any]) -> None:
        assert path == PATH
        metadata = self.object["metadata"]
        if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise Conflict("it is another version")
        for name, value in patch["metadata"]["annotations"].items():
            metadata["annotations"].pop(name, None)
            if value is not None:
                metadata["annotations"][name] = value
        self.touch()

    def touch(self) -> None:
        metadata = self.object["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    @property
    def annotations(self) -> dict[str, str]:
        found: dict[str, str] = self.object["metadata"]["annotations"]
        return found


def type_(server: Server, *words: str, answer: str | None = "y") -> str:
    """Types a command; None: nobody is there to answer."""

    def ask(_: str) -> str:
        if answer is None:
            raise EOFError
        return answer

    arguments = build_parser().parse_args([*words, "-n", "db"])
    return "\n".join(annotate(arguments, server, ask, NOW))


def test_what_is_written_is_what_the_operator_reads() -> None:
    server = Server()
    type_(server, "readopt", "wal", "--reason", "restored: see #12, by ops@site", "--for", "2h")
    type_(server, "dead-regions", "wal", "4398046511104", "7", "--reason", "disk lost")
    type_(server, "purge-unused", "wal", "wal_7", "wal_1*", "--reason", "dropped in May")
    type_(server, "override-restart-gate", "wal", "--reason", "broker 3 is lost")
    said = server.annotations
    grounds = parse_grounds(READOPT_ANNOTATION, said[READOPT_ANNOTATION], TIME, example="")
    assert not isinstance(grounds, str)
    assert (grounds.reason, grounds.expires) == ("restored: see #12, by ops@site", NOW + timedelta(hours=2))
    dead, unused = parse_dead(said[DEAD_ANNOTATION], TIME), parse_unused(said[UNUSED_ANNOTATION], TIME)
    assert isinstance(dead, DeadRegions)
    assert (dead.regions, dead.grounds.reason) == (frozenset({4398046511104, 7}), "disk lost")
    assert isinstance(unused, Unused)
    assert (unused.topics, unused.grounds.expires) == (("wal_7", "wal_1*"), NOW + timedelta(hours=1))
    assert not isinstance(parse_override(said[OVERRIDE_ANNOTATION], TIME), str)


def test_the_longest_time_counts_also_where_the_clock_of_the_operator_is_a_little_behind() -> None:
    server, behind = Server(), agreed(NOW - timedelta(minutes=4))
    type_(server, "readopt", "wal", "--reason", "restored", "--for", "24h")
    type_(server, "dead-regions", "wal", "7", "--reason", "disk lost", "--for", "24h")
    type_(server, "purge-unused", "wal", "wal_7", "--reason", "dropped in May", "--for", "24h")
    type_(server, "override-restart-gate", "wal", "--reason", "broker 3 is lost", "--for", "24h")
    said = server.annotations
    readoption = parse_readoption(said[READOPT_ANNOTATION])
    assert isinstance(readoption, Readoption)
    assert readoption.problem_by(behind) is None
    assert isinstance(parse_dead(said[DEAD_ANNOTATION], behind), DeadRegions)
    assert isinstance(parse_unused(said[UNUSED_ANNOTATION], behind), Unused)
    assert not isinstance(parse_override(said[OVERRIDE_ANNOTATION], behind), str)


def test_a_second_restart_is_another_request() -> None:
    server = Server()
    type_(server, "restart", "wal", "--reason", "new kernel")
    assert server.annotations == {RESTART_ANNOTATION: "2026-11-25T12:00:00Z new kernel"}


def test_pause_and_resume() -> None:
    server = Server()
    type_(server, "pause", "wal")
    assert server.annotations == {PAUSED_ANNOTATION: "true"}
    assert f"{PAUSED_ANNOTATION} is set: true" in type_(server, "resume", "wal")
    assert server.annotations == {}


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if not verb.removes])
def test_each_is_taken_away_by_undo(name: str) -> None:
    server = Server()
    server.annotations[VERBS[name].annotation] = "whatever"
    type_(server, name, "wal", "--undo")
    assert server.annotations == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("7", "--undo"), "--undo takes the whole annotation away"),
        (("9", "--reason", "x"), "the annotation names 7 8, too: name them again"),
        (("9", "7", "--reason", "x"), "the annotation names 8, too"),
    ],
)
def test_no_region_that_was_declared_dead_is_dropped_by_the_way(words: tuple[str, ...], sentence: str) -> None:
    """One that is back keeps its log by being named, also when the declaration has expired."""
    server, before = Server(), "7, 8: disk lost@2026-11-20T18:00:00Z"
    server.annotations[DEAD_ANNOTATION] = before
    with pytest.raises(Refused, match=sentence):
        type_(server, "dead-regions", "wal", *words)
    assert server.annotations == {DEAD_ANNOTATION: before}
    type_(server, "dead-regions", "wal", "9", "8", "7", "--reason", "x")
    assert server.annotations[DEAD_ANNOTATION].startswith("9, 8, 7: x@")
    assert "whether they have flushed or not" in type_(server, "dead-regions", "wal", "--undo")


def test_what_stands_and_what_it_allows_is_shown_before_it_is_asked() -> None:
    server, shown = Server(BROKEN), list[str]()
    arguments = build_parser().parse_args(["readopt", "wal", "--reason", "restored", "-n", "db"])

    def say_no(question: str) -> str:
        shown.append(question)
        return "n"

    parts = annotate(arguments, server, say_no, NOW)
    with pytest.raises(Refused, match="nothing was changed"):
        shown.extend(parts)
    assert shown[0] == "WALCluster db/wal at https://api:6443"
    assert shown[1] == "WALIntact is False (IdentityFenceBroken): wal_0 is another log"
    assert shown[2] == "Ready is not known"
    assert shown[3].startswith("Which topics it is about is not known: no Seawall operator leads")
    assert shown[4].splitlines() == [
        "It sets seawall.dev/readopt: restored@2026-11-25T13:00:00Z",
        VERBS["readopt"].allows,
    ]
    assert shown[5] == "Go on? [y/N] "
    assert server.annotations == {}


def test_where_nobody_answers_it_must_be_said_beforehand() -> None:
    server = Server()
    with pytest.raises(Refused, match="nobody answers here, say --yes: nothing was changed"):
        type_(server, "stop-deletes", "wal", answer=None)
    assert server.annotations == {}
    type_(server, "stop-deletes", "wal", "--yes", answer=None)
    assert len(server.annotations) == 1


def test_a_dry_run_writes_nothing() -> None:
    server = Server()
    assert "Dry run: nothing was changed." in type_(server, "restart", "wal", "--dry-run", answer=None)
    assert server.annotations == {}


def test_what_is_not_as_it_was_shown_is_not_answered_for() -> None:
    server = Server(BROKEN)

    def another_log() -> None:
        server.object["status"] = {"conditions": [{**BROKEN, "message": "wal_0 and wal_1 are other logs"}]}
        server.touch()

    server.between = another_log
    with pytest.raises(Conflict, match="is not as it was shown any more: nothing was changed"):
        type_(server, "readopt", "wal", "--reason", "restored", "--yes")
    assert server.annotations == {}


def test_another_object_of_the_name_is_not_answered_for() -> None:
    server = Server()
    server.between = lambda: server.object["metadata"].update(uid="2")
    with pytest.raises(Conflict, match="nothing was changed"):
        type_(server, "stop-deletes", "wal", "--yes")


def test_a_status_that_only_gets_another_version_stops_nobody_until_it_is_too_often() -> None:
    server, left = Server(), [TRIES]

    def touch() -> None:
        left[0] -= 1
        if left[0] > 0:
            server.touch()

    server.between = touch
    type_(server, "stop-deletes", "wal", "--yes")
    assert len(server.annotations) == 1
    server.between = server.touch
    with pytest.raises(Conflict):
        type_(server, "pause", "wal", "--yes")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("readopt", "wal"), "say why with --reason"),
        (("readopt", "wal", "--reason", " "), "say why with --reason"),
        (("readopt", "wal", "--reason", "two\nlines"), "a reason is one line"),
        (("readopt", "wal", "--reason", "x" * 201), "a reason is one line of at most 200 characters"),
        (("readopt", "wal", "--reason", "x", "--for", "25h"), "--for is at most 24h"),
        (("readopt", "wal", "--reason", "x", "--for", "0s"), "--for is at most 24h"),
        (("readopt", "wal", "--reason", "x", "--for", "2"), "--for: '2' is no duration such as 30s, 10m or 1h30m"),
        (("dead-regions", "wal", "--reason", "x"), "name the region"),
        (("dead-regions", "wal", "wal_1", "--reason", "x"), "'wal_1' is no region"),
        (("dead-regions", "wal", "1:2", "--reason", "x"), "'1:2' is no region"),
        (("purge-unused", "wal", "a b", "--reason", "x"), "'a b' is no topic"),
        (("approve", "wal"), "name the digest"),
        (("approve", "wal", "abc", "abd"), "name the digest"),
        (("approve", "wal", "xyz"), "the planned reassignment has digest abc: read it again"),
        (("approve-rollout", "wal"), "name the digest"),
        (("approve-rollout", "wal", "abc"), "no rollout is planned: read it again with `seawall status`"),
        (("format-volume", "wal", "--reason", "x"), "name the node"),
        (("format-volume", "wal", "wal-2", "--reason", "x"), "'wal-2' is no node"),
        (("format-volume", "wal", "2"), "say why with --reason"),
        (("pause", "nobody"), "there is no WALCluster db/nobody"),
    ],
)
def test_what_is_mistyped_is_one_sentence_and_nothing_is_written(words: tuple[str, ...], sentence: str) -> None:
    server = Server()
    with pytest.raises(Refused, match=sentence):
        type_(server, *words, "--yes")
    assert server.annotations == {}


def test_a_rollout_is_approved_by_its_digest_and_an_empty_volume_by_its_node() -> None:
    server = Server()
    server.object["status"]["managedKafka"] = {"awaitingApproval": "0a1b"}
    type_(server, "approve-rollout", "wal", "0a1b")
    assert server.annotations == {APPROVE_ROLLOUT_ANNOTATION: "0a1b"}
    with pytest.raises(Refused, match="the planned rollout has digest 0a1b"):
        type_(server, "approve-rollout", "wal", "0a1c")
    type_(server, "format-volume", "wal", "2", "100", "--reason", "disks burnt", "--for", "2h")
    text = server.annotations[FORMAT_VOLUME_ANNOTATION]
    found = parse_declaration(FORMAT_VOLUME_ANNOTATION, text, TIME, what="node ids", example="")
    assert not isinstance(found, str)
    assert (tuple(found.what), found.grounds.reason) == (("2", "100"), "disks burnt")
    type_(server, "restart-kafka", "wal", "--reason", "new kernel")
    assert server.annotations[RESTART_KAFKA_ANNOTATION] == "2026-11-25T12:00:00Z new kernel"


def test_a_plan_is_approved_by_its_digest() -> None:
    server = Server()
    type_(server, "approve", "wal", "abc")
    assert list(server.annotations.values()) == ["abc"]
    server.object["status"] = {}
    with pytest.raises(Refused, match="no reassignment is planned"):
        type_(server, "approve", "wal", "abc")
