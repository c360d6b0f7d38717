"""Prometheus metrics of reassignments. `name` is the WALCluster's."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.handlers.metrics.object_labels import OBJECT, ObjectGauge, Series, labels_of, set_or_remove


class ReassignmentTelemetry:
    """The ReassignmentMeter port.

    Args:
        registry: where the metrics are published.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._partitions = ObjectGauge(
            "seawall_reassignment_partitions",
            "Partitions of the run under way by what became of them: Done, InFlight, Failed, LeftAlone, Waiting",
            [*OBJECT, "progress"],
            registry=registry,
        )
        self._bytes_left = ObjectGauge(
            "seawall_reassignment_bytes_left", "Bytes that the run has yet to copy", OBJECT, registry=registry
        )
        self._progress = ObjectGauge(
            "seawall_reassignment_progress_timestamp_seconds",
            "When the run under way last got on; absent while there is none, or a person is asked",
            OBJECT,
            registry=registry,
        )
        self._throttled = ObjectGauge(
            "seawall_throttled_topics",
            "Topics of the pool with throttled replicas, as asked at least every ten minutes",
            OBJECT,
            registry=registry,
        )

    def measure_reassignment(self, key: Key, run: ReassignmentStatus | None, throttled_topics: int | None) -> None:
        """Replaces the metrics of one WALCluster's reassignment."""
        if throttled_topics is not None:
            self._throttled.labels(**labels_of(key)).set(throttled_topics)
        active = run if run is not None and run.is_active else None
        begun = None if active is None or active.asks_person else active.progress_time
        set_or_remove(self._progress, key, None if begun is None else begun.timestamp())
        set_or_remove(self._bytes_left, key, None if active is None else active.bytes_left)
        self._partitions.replace(key, _partitions_of(active))

    def forget_reassignment(self, key: Key) -> None:
        """Removes the metrics of a WALCluster."""
        for gauge in (self._partitions, self._bytes_left, self._progress, self._throttled):
            gauge.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """Forgets everything: who does not lead knows nothing."""
        for gauge in (self._partitions, self._bytes_left, self._progress, self._throttled):
            gauge.clear()


def _partitions_of(run: ReassignmentStatus | None) -> Series:
    if run is None or run.partitions is None:
        return {}
    found = run.partitions
    settled = found.done + found.in_flight + found.failed + found.left_alone
    return {
        ("Done",): found.done,
        ("InFlight",): found.in_flight,
        ("Failed",): found.failed,
        ("LeftAlone",): found.left_alone,
        ("Waiting",): max(0, found.total - settled),
    }
