"""A log that another leader leads when it was read, on a real Kafka: its last record tells whether it is the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from verifications import Answer, verify
from wal_logs import clean_log
from wal_topics import Topics, request_of

from replay_verification import broker
from replay_verification.coverage import Extent, LogState
from replay_verification.job import Verifier
from seawall_e2e.loopback import KafkaProcesses
from sparkjob.errors import Interrupted
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK
LOG, NAME = clean_log(), "led-anew"


@pytest.fixture(scope="module")
def topics(kafka: KafkaProcesses) -> Topics:
    """With a clean log."""
    made = Topics(kafka.bootstrap_servers)
    made.fill({NAME: LOG.records})
    return made


def led_before_by(epoch: int, patch: pytest.MonkeyPatch) -> None:
    """Whoever asks first hears of this leader epoch, and then of the true one."""
    honest, asked = broker.Broker.states, list[bool]()

    def states(self: broker.Broker, names: Iterable[str]) -> dict[str, LogState]:
        found = honest(self, names)
        if asked:
            return found
        asked.append(True)
        return {name: replace(state, epoch=epoch) for name, state in found.items()}

    patch.setattr(broker.Broker, "states", states)


def verified(spark: SparkSession, topics: Topics, folder: Path, epoch: int) -> Answer:
    """A run."""
    with pytest.MonkeyPatch.context() as patch:
        led_before_by(epoch, patch)
        return verify(spark, folder, request_of(topics.servers, "Coverage", [topics.topic(NAME, LOG.end)]))


def test_a_log_that_is_the_same_is_verified(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """Its last record is of an older leader than led before it was read, too."""
    answer = verified(spark, topics, tmp_path, 5)
    assert (answer.found(NAME), answer.verified()) == ([], {NAME})


def a_cut_is_found(spark: SparkSession, topics: Topics, folder: Path) -> None:
    answer = verified(spark, topics, folder, -1)
    assert answer.found(NAME) == [("LogEndsBeforeRange", None, None)]
    assert answer.verified() == set()


def test_a_log_that_was_cut_off_and_grew_again_is_not(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """Its last record is of a later leader than led before it was read."""
    a_cut_is_found(spark, topics, tmp_path / "honest")
    mutants = [
        (rewritten(Verifier, "verify", "[*late, *cuts]", "late"), lambda: a_cut_is_found(spark, topics, tmp_path / "m"))
    ]
    assert find_survivors(mutants) == []


def test_who_leads_is_said_and_a_log_without_a_last_record_proves_nothing(topics: Topics) -> None:
    name = f"{NAME}-marked"
    topics.fill({name: LOG.records})
    topics.append_in_transaction(name, LOG.records[:1])
    asked, end = broker.Broker({"bootstrap.servers": topics.servers}), topics.end(name)
    assert asked.states([name])[name] == LogState(topics.topic(name, end)["topicId"], 0, end, end, epoch=0)
    assert asked.last_epochs([]) == {}
    last = Extent(name, end - 1, 5)
    assert asked.last_epochs([last]) == {last: 0}
    with pytest.raises(Interrupted, match=f"does not give its record at offset {end - 1}"):
        asked.last_epochs([Extent(name, end, 5)])
    topics.delete_records(name, end)
    with pytest.raises(Interrupted, match=f"does not have offset {end - 2} any more"):
        asked.last_epochs([last])
