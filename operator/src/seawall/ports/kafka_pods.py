"""Pods of managed Kafkas."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from seawall.domain.managed_kafka.found import FoundPod, InSync


class KafkaPods(Protocol):
    """The readiness gates of pods."""

    def say_in_sync(self, namespace: str, pod: FoundPod, said: InSync, now: datetime) -> None:
        """Writes the condition of the pod's readiness gate, and nothing else of it.

        Raises:
            Conflict: the pod changed since it was found, or another one has its name, or none.
        """
        ...
