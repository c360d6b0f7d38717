"""What Kafka 4.3 says of topic names and topic configs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from seawall.api.v1alpha1.kafka_dynamic_configs import DYNAMIC_CONFIGS

NUMBERS: dict[str, tuple[str, int]] = {
    "delete.retention.ms": ("LONG", 0),
    "file.delete.delay.ms": ("LONG", 0),
    "flush.messages": ("LONG", 1),
    "flush.ms": ("LONG", 0),
    "index.interval.bytes": ("INT", 0),
    "local.retention.bytes": ("LONG", -2),
    "local.retention.ms": ("LONG", -2),
    "max.compaction.lag.ms": ("LONG", 1),
    "max.message.bytes": ("INT", 0),
    "message.timestamp.after.max.ms": ("LONG", 0),
    "message.timestamp.before.max.ms": ("LONG", 0),
    "min.compaction.lag.ms": ("LONG", 0),
    "min.insync.replicas": ("INT", 1),
    "retention.bytes": ("LONG", -1),
    "retention.ms": ("LONG", -1),
    "segment.bytes": ("INT", 1_048_576),
    "segment.index.bytes": ("INT", 4),
    "segment.jitter.ms": ("LONG", 0),
    "segment.ms": ("LONG", 1),
}
OTHERS = frozenset(
    {
        "cleanup.policy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "preallocate",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "unclean.leader.election.enable",
    }
)
BOOLEANS = frozenset(
    {"preallocate", "remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable"}
    | {"unclean.leader.election.enable"}
)


def kept_form(key: str, value: str) -> str:
    """The form in which Kafka keeps a value that it accepted."""
    if key in NUMBERS:
        return str(int(value))
    if key in BOOLEANS:
        return value.strip().lower()
    if key == "min.cleanable.dirty.ratio":
        return str(float(value))
    return ",".join(part.strip() for part in value.split(","))


def config_refusal(key: str, value: str) -> str | None:
    """Why Kafka refuses a topic config."""
    if key in OTHERS:
        return None
    if key not in NUMBERS:
        return f"Unknown topic config name: {key}"
    kind, least = NUMBERS[key]
    if not re.fullmatch(r"[-+]?\d+", value.strip()):
        return f"Invalid value {value} for configuration {key}: Not a number of type {kind}"
    if int(value) < least:
        return f"Invalid value {value} for configuration {key}: Value must be at least {least}"
    return None


def tiering_refusal(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """Why Kafka refuses a topic's configs for what lies in remote storage (LogConfig.validateTopicLogConfigValues)."""
    if after.get("remote.storage.enable", "false") != "true":
        keeps = after.get("remote.log.delete.on.disable", "false") != "true"
        was_on = before.get("remote.storage.enable", "false") == "true"
        return "It is invalid to disable remote storage without deleting remote data." if was_on and keeps else None
    if after.get("remote.log.copy.disable", "false") != "true":
        return None
    for what in ("bytes", "ms"):
        local, whole = after.get(f"local.retention.{what}", "-2"), after.get(f"retention.{what}", "-1")
        if local not in {"-2", whole}:
            return (
                f"When `remote.log.copy.disable` is set to true, the `local.retention.{what}` and `retention.{what}` "
                "must be set to the identical value because there will be no more logs copied to the remote storage."
            )
    return None


def default_refusal(key: str, value: str | None) -> str | None:
    """Why Kafka refuses a default of all brokers."""
    if key not in DYNAMIC_CONFIGS:
        return f"Cannot update these configs dynamically: [{key}]"
    if key == "min.insync.replicas" and value is None:
        return "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    if (
        value is not None
        and key.rpartition(".")[2] in {"bytes", "ms", "replicas"}
        and not re.fullmatch(r"-?\d+", value.strip())
    ):
        return f"Invalid value {value} for configuration {key}: Not a number of type INT"
    return None
