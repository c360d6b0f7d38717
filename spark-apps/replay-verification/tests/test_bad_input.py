"""What cannot be verified says so in one sentence, and what breaks meanwhile never passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from snapshots import Snapshot
from spark_marks import WITH_SPARK
from verifications import Answer, verify
from wal_logs import DATA, NOOP, OTHER, clean_log
from wal_topics import TIMEOUT, Topics, request_of

from replay_verification.job import Verifier
from replay_verification.report import Seen
from replay_verification.request import Topic, parse_request
from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Refused
from sparkjob.snapshot import parse_snapshot
from sparkjob.wire import kafka_state

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

LOG = clean_log()
NAMES = (
    "input",
    "cut",
    "late",
    "deleted",
    "open",
    "aborted-coverage",
    "aborted-integrity",
    "committed",
    "again",
    "gone",
)


@pytest.fixture(scope="module")
def topics(kafka: KafkaProcesses) -> Topics:
    """Topics with clean logs."""
    made = Topics(kafka.bootstrap_servers)
    made.fill({f"bad-{name}": LOG.records for name in NAMES})
    return made


class Run:
    """Runs requests on the clean log."""

    def __init__(self, spark: SparkSession, topics: Topics, folder: Path) -> None:
        self._spark, self._topics, self._folder = spark, topics, folder

    def __call__(self, level: str = "Integrity", name: str = "bad-input", **changes: Any) -> Answer:
        """A run; changes go into the topic, or into the request when they are named there."""
        topic = self._topics.topic(name, LOG.end) | {k: v for k, v in changes.items() if k in {"to", "topicId"}}
        topic["name"] = changes.get("absent", name)
        asked = json.loads(request_of(self._topics.servers, level, [topic], changes.get("snapshot")))
        asked["kafka"] |= changes.get("kafka", {})
        return verify(self._spark, self._folder, json.dumps(asked).encode())


@pytest.fixture
def run(spark: SparkSession, topics: Topics, tmp_path: Path) -> Run:
    """Runs requests."""
    return Run(spark, topics, tmp_path)


def test_offsets_beyond_the_end_are_a_lost_tail(run: Run) -> None:
    answer = run("Coverage", to=LOG.end + 5)
    assert (answer.code, answer.found("bad-input")) == (1, [("LogEndsBeforeRange", LOG.end, None)])


def test_coverage_counts_all_records(run: Run) -> None:
    answer = run("Coverage")
    assert (answer.code, answer.summary["counts"]["records"]) == (0, LOG.end)


def test_a_topic_that_is_not_there_is_found(run: Run) -> None:
    answer = run(absent="bad-none")
    assert (answer.code, answer.found("bad-none")) == (1, [("TopicMissing", 0, None)])


def test_a_recreated_topic_is_found_although_its_offsets_fit(run: Run, topics: Topics) -> None:
    before = topics.ids("bad-again")["bad-again"]
    topics.delete("bad-again")
    topics.fill({"bad-again": LOG.records})
    assert run(name="bad-again", topicId=before).found("bad-again") == [("TopicRecreated", 0, None)]


def test_another_kafka_is_refused(run: Run, kafka: KafkaProcesses) -> None:
    answer = run(kafka={"clusterId": "another"})
    assert answer.code == 2
    assert answer.summary["message"].endswith(f"is {kafka.cluster_id}, not another")


def test_a_kafka_that_does_not_answer_proves_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECONDS", "ASK_SECONDS"):
        monkeypatch.setattr(kafka_state, name, 1.0)
    answer = run(kafka={"bootstrapServers": ["127.0.0.1:1"]})
    assert (answer.code, answer.summary["outcome"], answer.report) == (3, "Interrupted", None)
    assert answer.summary["message"].startswith("Kafka does not answer")


def test_a_certificate_that_is_none_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("none")
    tls = {"caFile": str(tmp_path / "ca"), "certFile": None, "keyFile": None}
    answer = run(kafka={"bootstrapServers": ["127.0.0.1:1"], "tls": tls})
    assert answer.code == 2
    assert answer.summary["message"].startswith("Kafka's client cannot be made: ")


def test_a_snapshot_that_is_not_there_is_refused(run: Run, tmp_path: Path) -> None:
    answer = run("Equivalence", snapshot=(tmp_path / "none").as_uri())
    assert answer.code == 2
    assert "none/snapshot.json cannot be read: FileNotFoundException" in answer.summary["message"]


def test_a_snapshot_whose_file_is_not_there_is_refused(run: Run, tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path / "snapshot")
    snapshot.add(DATA, "bad-input", {3: [], 9: []})
    snapshot.write()
    (tmp_path / "snapshot" / "bad-input" / str(DATA) / "9.parquet").unlink()
    answer = run("Equivalence", snapshot=snapshot.uri)
    assert answer.code == 2
    assert "9.parquet" in answer.summary["message"]


def test_a_snapshot_of_which_one_file_lacks_a_column_is_refused(run: Run, tmp_path: Path) -> None:
    """Spark takes the columns of the first file for those of all, and reads null where another one has none."""
    snapshot = Snapshot(tmp_path / "snapshot")
    snapshot.add(DATA, "bad-input", {3: [], 9: []})
    snapshot.write()
    file = tmp_path / "snapshot" / "bad-input" / str(DATA) / "9.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["load"]), file)
    answer = run("Equivalence", snapshot=snapshot.uri)
    assert answer.code == 2
    assert answer.summary["message"].endswith("9.parquet has no column load")


@pytest.mark.parametrize("name", ["_base.parquet", "a/_base.parquet", "base.parquet._COPYING_"])
def test_a_snapshot_with_a_file_that_spark_passes_over_is_refused(name: str) -> None:
    region = {"id": 1, "topic": "wal", "columns": ["k"], "key": ["k"], "cuts": [{"entryId": 1, "files": [name]}]}
    with pytest.raises(Refused, match="Spark passes over a file of such a name"):
        parse_snapshot(json.dumps({"version": 1, "regions": [region]}).encode(), "uri")


def test_a_report_without_a_place_is_refused_before_anything_is_read(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    request = request_of(topics.servers, "Coverage", [topics.topic("bad-input", LOG.end)])
    no_scheme, no_folder = "nowhere://bucket/r.json", "file:///dev/null/r.json"
    for uri, why in ((no_scheme, 'No FileSystem for scheme "nowhere"'), (no_folder, "")):
        answer = verify(spark, tmp_path, request, report_uri=uri)
        assert answer.code == 2
        assert answer.summary["message"].startswith(f"the report cannot be written to {uri}: ")
        assert why in answer.summary["message"]


@contextmanager
def transaction(servers: str, topic: str) -> Iterator[None]:
    """A record in a transaction that is aborted at the end."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(TIMEOUT)
    producer.begin_transaction()
    producer.produce(topic, b"x", None, partition=0)
    producer.flush(TIMEOUT)
    yield
    producer.abort_transaction(TIMEOUT)


def test_an_open_transaction_is_a_sentence_and_no_verdict(run: Run, topics: Topics) -> None:
    with transaction(topics.servers, "bad-open"):
        answer = run(name="bad-open", to=LOG.end + 1)
    assert answer.code == 3
    said = f"topic bad-open has an open transaction from offset {LOG.end} on"
    assert answer.summary["message"].startswith(said)


@pytest.mark.parametrize("level", ["Coverage", "Integrity"])
def test_a_hole_that_a_transaction_left_is_named(run: Run, topics: Topics, level: str) -> None:
    name = f"bad-aborted-{level.lower()}"
    with transaction(topics.servers, name):
        pass
    topics.wait_for_end(name, LOG.end + 2)
    topics.append({name: [NOOP]})
    answer = run(level, name=name, to=LOG.end + 3)  # the record and the marker of its end lie before the noop
    noop = ("Noops", LOG.end + 2, None)
    assert (answer.code, answer.found(name)) == (1, [("OffsetsMissing", LOG.end, None), noop])
    said = f"2 offsets are missing between 0 and {LOG.end + 3}, the first at {LOG.end}: the database waits there"
    assert said in answer.summary["message"]


def test_a_hole_at_the_very_end_is_one_too(run: Run, topics: Topics) -> None:
    topics.append_in_transaction("bad-committed", [NOOP])
    answer = run(name="bad-committed", to=LOG.end + 2)
    assert ("OffsetsMissing", LOG.end + 1, None) in answer.found("bad-committed")


class _Meddling(Verifier):
    """Something happens right before the log is read, or right after it."""

    def __init__(self, spark: SparkSession, request: bytes, before: Any, after: Any) -> None:
        super().__init__(spark, parse_request(request))
        self._before, self._after = before, after

    def _read(self, topics: tuple[Topic, ...], seen: Seen) -> None:
        self._before()
        super()._read(topics, seen)
        self._after()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_records_that_are_deleted_in_mid_job_never_pass(spark: SparkSession, topics: Topics, moment: str) -> None:
    name = {"before": "bad-cut", "after": "bad-late"}[moment]
    request = request_of(topics.servers, "Integrity", [topics.topic(name, LOG.end), topics.topic("bad-input", LOG.end)])

    def cut() -> None:
        topics.delete_records(name, 9)

    seen = _Meddling(spark, request, *((cut, _nothing) if moment == "before" else (_nothing, cut))).verify()
    assert {(found.kind.value, found.topic, found.region) for found in seen.findings} == {
        ("LogStartBeyondReplay", name, region) for region in (DATA, OTHER)
    }
    assert seen.topics["bad-input"].records == LOG.end  # the other one is read all the same


def test_a_topic_that_is_deleted_in_mid_job_never_passes(spark: SparkSession, topics: Topics) -> None:
    request = request_of(topics.servers, "Integrity", [topics.topic("bad-deleted", LOG.end)])
    seen = _Meddling(spark, request, lambda: topics.delete("bad-deleted"), _nothing).verify()
    assert [(found.kind.value, found.offset) for found in seen.findings] == [("TopicMissing", 0)]


def test_passwords_and_tls_work_and_are_told_nobody(run: Run, kafka: KafkaProcesses, tmp_path: Path) -> None:
    secure = kafka.secure
    for name, content in (("ca", secure.ca_pem), ("user", secure.username), ("password", secure.password + "\n")):
        (tmp_path / name).write_text(content)
    sasl = {
        "mechanism": "SCRAM-SHA-512",
        "usernameFile": str(tmp_path / "user"),
        "passwordFile": str(tmp_path / "password"),
    }
    tls = {"caFile": str(tmp_path / "ca"), "certFile": None, "keyFile": None}
    answer = run(kafka={"bootstrapServers": list(secure.sasl_ssl_servers), "tls": tls, "sasl": sasl})
    assert answer.code == 0, answer.summary
    assert secure.password not in f"{answer.report}{answer.summary}{answer.page}"


def test_a_wrong_password_is_told_and_tried_once(
    run: Run, kafka: KafkaProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trying often locks accounts; it is no refusal, because who rotates passwords mends it."""
    monkeypatch.setattr(kafka_state, "ASK_SECONDS", 2.0)
    secure, made = kafka.secure, list[bool]()

    class Client(AdminClient):
        def __init__(self, *given: Any) -> None:
            made.append(True)
            super().__init__(*given)

    monkeypatch.setattr(kafka_state, "AdminClient", Client)
    for name, content in (("ca", secure.ca_pem), ("password", "wrong")):
        (tmp_path / name).write_text(content)
    sasl = {
        "mechanism": "SCRAM-SHA-512",
        "username": secure.username,
        "passwordFile": str(tmp_path / "password"),
    }
    tls = {"caFile": str(tmp_path / "ca"), "certFile": None, "keyFile": None}
    answer = run(kafka={"bootstrapServers": list(secure.sasl_ssl_servers), "tls": tls, "sasl": sasl})
    assert (answer.code, answer.summary["outcome"]) == (3, "Interrupted")
    assert answer.summary["message"].startswith("Kafka does not let its user in: ")
    assert len(made) == 1


def test_client_certificates_work(run: Run, kafka: KafkaProcesses, tmp_path: Path) -> None:
    secure = kafka.secure
    for name, content in (("ca", secure.ca_pem), ("cert", secure.client_cert_pem), ("key", secure.client_key_pem)):
        (tmp_path / name).write_text(content)
    tls = {"caFile": str(tmp_path / "ca"), "certFile": str(tmp_path / "cert"), "keyFile": str(tmp_path / "key")}
    answer = run("Coverage", kafka={"bootstrapServers": list(secure.mutual_tls_servers), "tls": tls})
    assert answer.code == 0, answer.summary


def _nothing() -> None:
    pass
