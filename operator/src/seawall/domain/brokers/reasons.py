"""The closed set of reasons of the conditions ReplicationHealthy and QuorumHealthy."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why replication or the quorum is as it is; each member says the status of the condition, and what ends it."""

    IN_SYNC = "InSync"
    """True. ReplicationHealthy: every replica is in sync, but for those that a reassignment is only making, and Kafka's
    own topics are as expected. The message counts partitions that their preferred leader does not lead."""
    LEADERLESS = "PartitionsLeaderless"
    """False. Partitions have no leader, and can be neither read nor written: bring back a broker that was in sync."""
    UNDER_MIN_ISR = "UnderMinISR"
    """False. Partitions have fewer in-sync replicas than min.insync.replicas, and refuse writes with acks=all: bring
    brokers back."""
    UNDER_REPLICATED = "UnderReplicated"
    """False. Replicas are not in sync; the message names their brokers: bring them back, or wait until they have caught
    up."""
    INTERNAL_TOPICS = "InternalTopicsAtRisk"
    """False. `__consumer_offsets` or `__transaction_state` have fewer replicas than `internalTopics` asks for, or one
    lost broker stops their writes: set `internalTopics.repair: true` (docs/replication.md#kafkas-own-topics), or
    reassign by hand."""
    THROTTLED = "BrokersThrottled"
    """False. Throttles are set on single brokers (`kafka-reassign-partitions --throttle` does, until its `--verify`):
    they win over those of Seawall's moves, and stay. The message has the command that removes them, once no move needs
    them (docs/replication.md#throttles-of-others)."""
    KEEPING_UP = "VotersKeepUp"
    """True. QuorumHealthy: all controllers that vote have what their leader has."""
    VOTERS_BEHIND = "VotersBehind"
    """False. Voters have lacked records for more than ten seconds, or the leader's clock was set back and nobody knows;
    the message says what is left to lose. Bring them back: without more than half of them, nothing in Kafka can
    change."""
    NO_QUORUM = "QuorumUnanswered"
    """Unknown. The controllers have no leader, or do not answer: check the controllers."""
    NOT_ASKED = "NotAsked"
    """Unknown. Kafka was not asked: KafkaReachable says why, or the message. The numbers of the last answer stay."""
    NOT_ALLOWED = "NotAllowed"
    """Unknown. Kafka refused to answer: give its user the right that the message names (docs/kafka-acls.md)."""
