"""What a look reads of shards and of epochs: what is not known must not pass for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from seawall.domain.kafka_log import AskedEpoch, EpochEnd, EpochUnknown, TopicFailure, TopicTrouble
from seawall.domain.ledger.intents import FenceRecord
from seawall.domain.ledger.observation import read_shards
from seawall.domain.ledger.shards import IntentShard
from seawall.domain.ledger.tables import TopicLog
from seawall.observe.topic_logs import read_epoch_ends
from seawall.ports import KafkaLogs

RECORD = FenceRecord("id", 5, 0, 1000, intent=0, min_flushed=None, max_flushed=None)


def test_a_shard_that_exists_and_is_empty_cannot_be_trusted() -> None:
    shards = read_shards({0: IntentShard(b"", None), 1: IntentShard(b"", "7")})
    assert 0 in shards.records
    assert 1 in shards.unreadable


class Epochs:
    """The one question of KafkaLogs that is asked here, with its answers."""

    def __init__(self, answers: Mapping[str, EpochEnd | EpochUnknown | TopicFailure]) -> None:
        self._answers = answers

    def describe_epoch_ends(self, epochs: Mapping[str, AskedEpoch]) -> Mapping[str, Any]:
        """The answers to what is asked."""
        assert set(epochs.values()) <= {AskedEpoch(5, 6)}, "of the epoch that the offsets are of"
        return {name: self._answers[name] for name in epochs}


def test_a_topic_whose_epoch_nobody_answered_for_counts_as_not_looked_at() -> None:
    moved = TopicLog("id", 6, 0, 1100)
    names = ("cut", "never", "silent", "same")
    known = dict.fromkeys(names, moved) | {"same": TopicLog("id", 5, 0, 1100)}
    logs = Epochs(
        {
            "cut": EpochEnd(5, 700),
            "never": EpochUnknown(),
            "silent": TopicFailure(TopicTrouble.UNANSWERED, "no answer"),
        }
    )
    ends, recorded = read_epoch_ends(cast("KafkaLogs", logs), dict.fromkeys(names, RECORD), known)
    assert ends == {"cut": 700, "never": 0}
    assert recorded["silent"] == TopicLog("id", None, None, None)
    assert recorded["cut"] == moved
    assert recorded["same"] == known["same"]
