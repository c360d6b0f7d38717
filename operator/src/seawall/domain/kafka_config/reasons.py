"""The closed set of reasons of the condition KafkaConfigApplied."""

from __future__ import annotations

from enum import StrEnum


class ConfigReason(StrEnum):
    """How the configs of brokers that run are; each member says the status of the condition, and what ends it."""

    APPLIED = "ConfigApplied"
    """True. Kafka has them as defaults of all brokers."""
    OVERRIDDEN = "ConfigOverridden"
    """False. Kafka has them as defaults of all brokers, and a broker has another value of its own, which wins. Seawall
    changes nothing that it did not set: the message has the command that takes it back."""
    CHANGING = "ConfigChanging"
    """False. Some are set or taken back now."""
    NOT_ASKED = "NotAsked"
    """Unknown. Kafka was not asked, or did not answer; the message says why."""
    PAUSED = "Paused"
    """Unknown. seawall.dev/paused is set: no config is changed."""
