"""The pool of WAL topics: how many, with which replicas and configs, and which configs nobody may choose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, StrictInt, StrictStr

from seawall.api.meta import APIModel, Rule
from seawall.api.quantity import MI, Bytes, bytes_rule

GUARDED_CONFIGS: dict[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
}
"""Topic configs that every WAL topic has, whatever anybody asks for.

A broker default of seven days deletes rows that were not flushed; compaction destroys the WAL, because keys repeat.
"""

FIELD_CONFIGS: dict[str, str] = {
    "min.insync.replicas": "minInSyncReplicas",
    "max.message.bytes": "maxMessageBytes",
    "segment.bytes": "segmentBytes",
}
"""Topic configs that have a field of their own in `spec.topics`."""

REASSIGNMENT_CONFIGS = frozenset({"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"})
"""Written by partition reassignments, ours or anybody's: never drift. A reset would unthrottle a running move."""

REMOTE_STORAGE = "remote.storage.enable"
COPY_DISABLE = "remote.log.copy.disable"
DELETE_ON_DISABLE = "remote.log.delete.on.disable"
"""While it is true, whoever turns remote.storage.enable off lets Kafka delete all that lies in remote storage, and move
the log start to what is left (Kafka 4.3.1, TopicConfigHandler.maybeUpdateRemoteLogComponents). While it is not, Kafka
refuses to turn it off (LogConfig.validateTurningOffRemoteStorageWithDelete). It is none of GUARDED_CONFIGS, because
Kafka before 3.9 does not know it.
"""


def _cel_list(keys: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{key}'" for key in sorted(keys)) + "]"


MAX_COUNT = 10_000
"""Topics that a pool may have."""
CONFIG_KEY = r"^[a-z][a-z0-9.]{0,127}$"
ConfigKey = Annotated[str, Field(min_length=1, max_length=128, pattern=CONFIG_KEY)]
ConfigText = Annotated[StrictStr, Field(max_length=1024)]


class DeletionPolicy(StrEnum):
    """What becomes of the topics when the WALCluster is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class TopicsSpec(APIModel):
    """The pool of WAL topics: `<prefix>_0` to `<prefix>_<count-1>`, one partition each."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        # `has` is for the empty default object only, which the API server checks before it fills in its fields.
        Rule(
            "!has(self.prefix) || self.prefix == oldSelf.prefix",
            "prefix is immutable: regions remember the names of their topics",
        ),
        Rule(
            "!has(self.count) || self.count >= oldSelf.count",
            "count only grows: a topic that was dropped from the pool may still hold rows that were not flushed",
        ),
        Rule(
            "!has(self.minInSyncReplicas) || self.minInSyncReplicas < self.replicationFactor"
            " || (self.replicationFactor == 1 && self.minInSyncReplicas == 1)",
            "minInSyncReplicas must be below replicationFactor (or both 1): otherwise one lost broker stops all writes",
            lambda topics: (
                topics.min_in_sync_replicas is None
                or topics.min_in_sync_replicas < topics.replication_factor
                or topics.replication_factor == topics.min_in_sync_replicas == 1
            ),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, key.matches('{CONFIG_KEY}'))",
            "config keys are Kafka topic configs such as flush.messages",
            lambda topics: all(re.fullmatch(CONFIG_KEY, key) for key in topics.config),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(GUARDED_CONFIGS)}))",
            f"config must not set {', '.join(sorted(GUARDED_CONFIGS))}: Seawall guards them on every WAL topic",
            lambda topics: topics.config.keys().isdisjoint(GUARDED_CONFIGS),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(FIELD_CONFIGS)}))",
            "config must not set what has a field: "
            + ", ".join(f"{key} is {field}" for key, field in sorted(FIELD_CONFIGS.items())),
            lambda topics: topics.config.keys().isdisjoint(FIELD_CONFIGS),
        ),
        Rule(
            f"!has(self.config) || self.config.all(key, !(key in {_cel_list(REASSIGNMENT_CONFIGS)}))",
            "config must not set replication throttles: they belong to partition reassignments",
            lambda topics: topics.config.keys().isdisjoint(REASSIGNMENT_CONFIGS),
        ),
        Rule(
            "!has(self.ignoredConfigs) || self.ignoredConfigs.all(key,"
            f" !(key in {_cel_list({**GUARDED_CONFIGS, **FIELD_CONFIGS})})"
            " && (!has(self.config) || !(key in self.config)))",
            "ignoredConfigs must not name a guarded config, one that has a field, or one that config sets",
            lambda topics: set(topics.ignored_configs).isdisjoint({*GUARDED_CONFIGS, *FIELD_CONFIGS, *topics.config}),
        ),
        Rule(
            "!has(self.ignoredConfigs) || self.ignoredConfigs.all(key, self.ignoredConfigs.exists_one(k, k == key))",
            "ignoredConfigs names each config once",
            lambda topics: len(set(topics.ignored_configs)) == len(topics.ignored_configs),
        ),
        Rule(
            f"(!has(self.config) || !('{DELETE_ON_DISABLE}' in self.config))"
            f" && (!has(self.ignoredConfigs) || !('{DELETE_ON_DISABLE}' in self.ignoredConfigs))",
            f"config and ignoredConfigs must not name {DELETE_ON_DISABLE}:"
            " with it Kafka deletes the tiered records of a topic whose remote storage is turned off",
            lambda topics: DELETE_ON_DISABLE not in topics.config and DELETE_ON_DISABLE not in topics.ignored_configs,
        ),
        bytes_rule("maxMessageBytes"),
        bytes_rule("segmentBytes"),
        Rule(
            "!has(self.segmentBytes) || !quantity(string(self.segmentBytes)).isLessThan(quantity('1Mi'))",
            "segmentBytes must be at least 1Mi: Kafka refuses smaller segments",
            lambda topics: topics.segment_bytes >= MI,
        ),
    )

    prefix: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[a-zA-Z0-9._-]+$")] = "greptimedb_wal_topic"
    """Start of the topic names. Immutable."""
    count: Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)] = 64
    """How many topics the pool has. It only grows."""
    replication_factor: Annotated[int, Field(strict=True, ge=1, le=32)] = 3
    """Replicas of each topic. More than the cluster has brokers is refused by the condition Stalled."""
    min_in_sync_replicas: Annotated[int, Field(strict=True, ge=1, le=32)] | None = None
    """Replicas that must have a write before it is acknowledged. Default: replicationFactor - 1, at least 1."""
    max_message_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "1Mi"})] = 1 * MI
    """Largest record batch that the brokers accept (max.message.bytes)."""
    segment_bytes: Annotated[Bytes, Field(json_schema_extra={"default": "64Mi"})] = 64 * MI
    """Size of a log segment (segment.bytes). Only closed segments free disk space after a purge."""
    config: Annotated[dict[str, StrictInt | ConfigText], Field(max_length=64)] = Field(default_factory=dict)
    """Any other topic config. Quote booleans: the values are integers or strings. remote.storage.enable is turned on,
    and never off again."""
    ignored_configs: Annotated[tuple[ConfigKey, ...], Field(max_length=64, json_schema_extra={"set": True})] = ()
    """Topic configs that belong to somebody else: neither set nor reset."""
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    """Whether the topics stay (Retain) or are deleted (Delete) when this WALCluster is deleted."""

    def topic_names(self) -> list[str]:
        """The names of the pool's topics, in order."""
        return [f"{self.prefix}_{index}" for index in range(self.count)]

    def index_of(self, topic: str) -> int | None:
        """The index of a topic with this prefix, in the pool or beyond it; None for any other topic."""
        suffix = topic.removeprefix(f"{self.prefix}_")
        is_index = suffix != topic and suffix.isascii() and suffix.isdigit() and (suffix == "0" or suffix[0] != "0")
        return int(suffix) if is_index else None

    def effective_min_in_sync_replicas(self) -> int:
        """The value that is written to topics with the wanted replication factor."""
        return self.min_in_sync_replicas or max(1, self.replication_factor - 1)
