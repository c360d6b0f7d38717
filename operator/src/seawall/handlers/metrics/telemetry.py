"""Prometheus metrics."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from seawall.api.meta import Key
from seawall.api.v1alpha1.kinds import KINDS
from seawall.domain.clocks import TrustedTime
from seawall.domain.topics.pool import Pool, TopicState
from seawall.handlers.metrics.brokers import BrokerTelemetry
from seawall.handlers.metrics.conditions import ConditionTelemetry
from seawall.handlers.metrics.ledger import WALTelemetry
from seawall.handlers.metrics.object_labels import ObjectGauge, labels_of
from seawall.handlers.metrics.reassignment import ReassignmentTelemetry
from seawall.handlers.metrics.rollout import RestartTelemetry
from seawall.handlers.metrics.subscription import SubscriptionTelemetry
from seawall.progress import Progress
from seawall.reconciler import Outcome, Ticked

_KINDS = frozenset(kind.kind for kind in KINDS)


class Telemetry:
    """All metrics of one process; also the TopicMeter port.

    Args:
        per_topic: whether every topic gets a series of its own: 10,000 topics are 10,000 series.
        namespaces: those that are served; empty: all.
        monotonic: the clock by which ticks get on.
    """

    def __init__(
        self, *, per_topic: bool, namespaces: Sequence[str] = (), monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.registry = CollectorRegistry()
        self._per_topic = per_topic
        self._lock = threading.Lock()
        self._monotonic = monotonic
        self._running: dict[tuple[str, Key], Progress] = {}
        self._duration = Histogram(
            "seawall_reconcile_duration_seconds",
            "Duration of ticks",
            ["kind", "outcome"],
            registry=self.registry,
        )
        self._in_progress = Gauge(
            "seawall_reconcile_in_progress_start_time_seconds",
            "Unix time at which the running tick of an object began; absent when none runs",
            ["kind", "namespace", "name"],
            registry=self.registry,
        )
        self._topics = ObjectGauge(
            "seawall_topics", "Topics of a pool by state", ["namespace", "name", "state"], registry=self.registry
        )
        self._topic_state = ObjectGauge(
            "seawall_topic_state",
            "1 for the state that a topic is in",
            ["namespace", "name", "topic", "state"],
            registry=self.registry,
        )
        self._reachable = ObjectGauge(
            "seawall_kafka_reachable",
            "1 while the object's Kafka answers; its topics have no series otherwise",
            ["namespace", "name"],
            registry=self.registry,
        )
        self._conditions = ConditionTelemetry(self.registry, monotonic)
        self.wal = WALTelemetry(self.registry, per_topic=per_topic)
        self.brokers = BrokerTelemetry(self.registry)
        self.reassignments = ReassignmentTelemetry(self.registry)
        self.restarts = RestartTelemetry(self.registry)
        self.subscriptions = SubscriptionTelemetry(self.registry)
        self._leader = Gauge("seawall_leader", "1 while this process is the leader", registry=self.registry)
        self._deaf = Counter(
            "seawall_watch_deaf",
            "Times that watching began anew: of objects of this kind that the API server lists nothing was heard",
            ["kind"],
            registry=self.registry,
        )
        for kind in _KINDS:  # from 0 on: of one that begins with 1 Prometheus sees no increase
            self._deaf.labels(kind)
        self._process_start = Gauge(
            "seawall_process_start_time_seconds", "Unix time at which this process began", registry=self.registry
        )
        self._process_start.set_to_current_time()
        self._served = Gauge(
            "seawall_served_namespace",
            "1 for each namespace that is served; absent when all are",
            ["namespace"],
            registry=self.registry,
        )
        for namespace in namespaces:
            self._served.labels(namespace).set(1)
        self._agree = Gauge(
            "seawall_clocks_agree",
            "1 while this process's clock agrees with the API server's; else no hold ends, and no declaration counts",
            registry=self.registry,
        )
        self._skew = Gauge(
            "seawall_clock_skew_seconds",
            "By how much this process's clock is ahead of the API server's, about; NaN: unknown",
            registry=self.registry,
        )

    def measured(self, kind: str, tick: Callable[[Key], Ticked]) -> Callable[[Key], Ticked]:
        """The same tick, measured.

        Of the controllers of one kind only the one that is called like it publishes conditions: its ticks of an object
        come one after another, so the one that finds it gone has the last word.
        """

        def run(key: Key) -> Ticked:
            labels, begun, outcome = (kind, key.namespace, key.name), self._monotonic(), Outcome.ERROR
            progress = Progress(self._monotonic)
            with self._lock:
                self._running[kind, key] = progress
            self._in_progress.labels(*labels).set_to_current_time()
            try:
                with progress.of_this_thread():
                    ticked = tick(key)
                outcome = ticked.outcome
                if kind in _KINDS and ticked.is_unread:
                    self._conditions.miss(kind, key)
                elif kind in _KINDS and ticked.conditions is not None:
                    self._conditions.measure(kind, key, ticked.conditions)
                return ticked
            finally:
                with self._lock:
                    del self._running[kind, key]
                self._in_progress.remove(*labels)
                self._duration.labels(kind, outcome.value).observe(self._monotonic() - begun)

        return run

    def longest_without_progress(self) -> float:
        """For how many seconds no request has ended in the running tick of which that is longest; 0: none runs."""
        now = self._monotonic()
        with self._lock:
            return max((now - progress.at for progress in self._running.values()), default=0.0)

    def measure(self, key: Key, pool: Pool | None) -> None:
        """Replaces the metrics of one object's pool."""
        self._reachable.labels(key.namespace, key.name).set(pool is not None)
        if pool is None:
            self._forget_topics(key)
            return
        tally = Tally(pool.states.values())
        for state in TopicState:
            self._topics.labels(key.namespace, key.name, state.value).set(tally[state])
        self._topics.labels(key.namespace, key.name, "Foreign").set(len(pool.foreign))
        if self._per_topic:
            self._topic_state.replace(key, {(topic, state.value): 1 for topic, state in pool.states.items()})

    def forget(self, key: Key) -> None:
        """Removes the metrics of one object."""
        self._reachable.remove_by_labels(labels_of(key))
        self._forget_topics(key)

    def measure_clocks(self, reported: TrustedTime) -> None:
        """Says whether this process's clock can be trusted."""
        self._agree.set(reported.problem is None)
        self._skew.set(math.nan if reported.skew is None else reported.skew.total_seconds())

    def lead(self, *, leading: bool) -> None:
        """Says whether this process leads. One that does not lead knows nothing of the objects any more."""
        self._leader.set(leading)
        if not leading:
            for gauge in (self._reachable, self._topics, self._topic_state):
                gauge.clear()
            self._conditions.clear()
            self.wal.clear()
            self.brokers.clear()
            self.reassignments.clear()
            self.restarts.clear()
            self.subscriptions.clear()

    def begin_to_watch_anew(self, kinds: Iterable[str]) -> None:
        """Counts that the watch was deaf to these kinds."""
        for kind in kinds:
            self._deaf.labels(kind).inc()

    def exposition(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def _forget_topics(self, key: Key) -> None:
        self._topics.remove_by_labels(labels_of(key))
        self._topic_state.remove_by_labels(labels_of(key))
