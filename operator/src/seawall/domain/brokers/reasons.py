"""The closed set of reasons of the conditions ReplicationHealthy and QuorumHealthy."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why replication or the quorum is as it is; each member says what ends it."""

    IN_SYNC = "InSync"
    """ReplicationHealthy: every replica is in sync, and Kafka's own topics are as expected."""
    LEADERLESS = "PartitionsLeaderless"
    """Partitions have no leader, and cannot be read or written: bring back a broker that was in sync."""
    UNDER_MIN_ISR = "UnderMinISR"
    """Partitions have fewer in-sync replicas than min.insync.replicas, and refuse writes: bring brokers back."""
    UNDER_REPLICATED = "UnderReplicated"
    """Replicas are not in sync: ends when their brokers are back and have caught up."""
    INTERNAL_TOPICS = "InternalTopicsAtRisk"
    """Kafka's own topics lose too much with one broker: reassign their partitions, or lower min.insync.replicas."""
    THROTTLED = "BrokersThrottled"
    """Somebody set throttles on single brokers, which win over those of Seawall's moves: the message has the command
    that removes them. While somebody's own reassignment needs them, they are as they should be."""
    KEEPING_UP = "VotersKeepUp"
    """QuorumHealthy: all voters have what the leader has."""
    VOTERS_BEHIND = "VotersBehind"
    """Voters are down or cut off: bring them back. Without more than half of them, nothing in Kafka can change."""
    NO_QUORUM = "QuorumUnanswered"
    """Kafka did not tell of its controllers: they have no leader, or do not answer."""
    NOT_ASKED = "NotAsked"
    """Nobody could look: KafkaReachable says why, or the message."""
    NOT_ALLOWED = "NotAllowed"
    """Kafka refused to tell: give its user the right that the message names."""
