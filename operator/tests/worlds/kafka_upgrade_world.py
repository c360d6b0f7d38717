"""The world of a managed Kafka that is upgraded: a node runs the release of its image, and ends where that is too old.

Beside what a roll is judged by: none goes by our act that would come back with a release that cannot read what is
finalized (V1). What is finalized after Kafka was asked last is no act of ours.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from seawall.api.meta import Key
from seawall.domain.brokers.view import METADATA_VERSION
from seawall.domain.managed_kafka.names import node_name
from seawall.domain.managed_kafka.node import Node
from seawall.domain.managed_kafka.objects import ObjectKind
from seawall.domain.managed_kafka.releases import LEVELS, release_of
from tests.worlds.kafka_roll_world import RollWorld
from tests.worlds.managed_world import SPEC, WAL

OLDER, NEWER = "4.2.0", "4.3.1"


def of_version(version: str) -> dict[str, Any]:
    """The spec with it."""
    spec = copy.deepcopy(SPEC)
    spec["kafka"]["managed"]["version"] = version
    return spec


@dataclass(repr=False)
class UpgradeWorld(RollWorld):
    """All that outlives a process.

    Attributes:
        releases: by node which release it runs.
        is_level_unread: the world moved since Kafka told what is finalized.
    """

    spec: dict[str, Any] = field(default_factory=lambda: of_version(OLDER))
    releases: dict[int, str] = field(default_factory=dict)
    is_level_unread: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kafka.moves.features |= {METADATA_VERSION: LEVELS[release_of(OLDER)][METADATA_VERSION]}

    @property
    def finalized(self) -> int:
        """The level of metadata.version."""
        return self.kafka.moves.features[METADATA_VERSION]

    def cannot_read(self, release: str) -> bool:
        """Whether something is finalized above what a release knows."""
        return any(level > LEVELS[release].get(name, 0) for name, level in self.kafka.moves.features.items())

    def next_release(self, node: int) -> str:
        """Of the image with which the pod of a node would be made now."""
        made = self.objects.made[ObjectKind.STATEFUL_SET, Key(WAL.namespace, node_name(WAL.name, node))]
        image: str = made.body["spec"]["template"]["spec"]["containers"][0]["image"]
        return release_of(image.partition(":")[2])

    def _start(self, node: Node) -> None:
        """A release that does not know what is finalized ends at once."""
        release = self.next_release(node.id)
        if self.cannot_read(release):
            self.objects.update_pod(WAL, node.id, is_started=False, is_ready=False, trouble="CrashLoopBackOff: too old")
            return
        super()._start(node)
        self.releases[node.id] = release

    def _judge(self, node: int, *, is_up: bool) -> None:
        super()._judge(node, is_up=is_up)
        release = self.next_release(node)
        if not self.is_level_unread and self.cannot_read(release):
            self.violations.append(f"V1: {node} goes, and {release} cannot read {self.kafka.moves.features}")

    def is_rolled(self) -> bool:
        """All run the release that is declared, too."""
        declared = release_of(self.spec["kafka"]["managed"]["version"])
        return super().is_rolled() and set(self.releases.values()) == {declared}

    def newest_of_finalized(self) -> str:
        """The version that can read what is finalized: the older one as long as that can."""
        return OLDER if not self.cannot_read(release_of(OLDER)) else NEWER

    # --- what people do

    def finalize(self) -> None:
        """Somebody raises features to the newest that all nodes know; Kafka refuses more."""
        newest = min(LEVELS[each][METADATA_VERSION] for each in self.releases.values())
        self.kafka.moves.features[METADATA_VERSION] = newest
