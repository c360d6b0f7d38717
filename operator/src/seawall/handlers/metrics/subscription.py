"""Prometheus metrics of WALSubscriptions. `name` is the subscription's."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.api.v1alpha1.subscription_status import SubscriptionState, WALSubscriptionStatus
from seawall.handlers.metrics.object_labels import OBJECT, ObjectGauge, labels_of, set_or_remove


class SubscriptionTelemetry:
    """The SubscriptionMeter port."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._state = ObjectGauge(
            "seawall_subscription_state", "1 for the state of a subscription", [*OBJECT, "state"], registry=registry
        )
        self._topics = ObjectGauge(
            "seawall_subscription_stopped_topics", "Topics that are not copied any more", OBJECT, registry=registry
        )
        self._entries = ObjectGauge(
            "seawall_subscription_lag_entries", "Records that the target lacks", OBJECT, registry=registry
        )
        self._seconds = ObjectGauge(
            "seawall_subscription_lag_seconds",
            "For how long at least the target has lacked the oldest of them",
            OBJECT,
            registry=registry,
        )
        self._held = ObjectGauge(
            "seawall_subscription_held_bytes",
            "Bytes that the source keeps for it, estimated",
            OBJECT,
            registry=registry,
        )
        self._budget = ObjectGauge(
            "seawall_subscription_budget_bytes", "Bytes that lagBudget lets it keep", OBJECT, registry=registry
        )
        self._rows = ObjectGauge("seawall_subscription_rows", "Rows that were handed on", OBJECT, registry=registry)
        self._dead_letters = ObjectGauge(
            "seawall_subscription_dead_letters",
            "Records that give no rows, and were put aside",
            OBJECT,
            registry=registry,
        )

    def measure_subscription(self, key: Key, status: WALSubscriptionStatus, max_bytes: int | None) -> None:
        """Replaces the metrics of one subscription; what is not known has no series."""
        self._state.replace(key, {(state.value,): status.state is state for state in SubscriptionState})
        numbers = {
            self._topics: None if status.counts is None else status.counts.stopped,
            self._entries: None if status.lag is None else status.lag.entries,
            self._seconds: None if status.lag is None else status.lag.seconds,
            self._held: None if status.lag is None else status.lag.bytes,
            self._budget: max_bytes,
            self._rows: None if status.handed_on is None else status.handed_on.rows,
            self._dead_letters: None if status.handed_on is None else status.handed_on.dead_letters,
        }
        for gauge, value in numbers.items():
            set_or_remove(gauge, key, value)

    def forget_subscription(self, key: Key) -> None:
        """Removes the metrics of one subscription."""
        for gauge in self._gauges():
            gauge.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """Who does not lead knows nothing."""
        for gauge in self._gauges():
            gauge.clear()

    def _gauges(self) -> tuple[ObjectGauge, ...]:
        lag = self._entries, self._seconds, self._held, self._budget
        return self._state, self._topics, *lag, self._rows, self._dead_letters
