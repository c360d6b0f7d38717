"""Prometheus metrics of brokers and controllers. `name` is the WALCluster's."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.domain.brokers.view import BrokersFound
from seawall.domain.partitions import BrokerState, Quorum
from seawall.domain.throttles import least_of
from seawall.handlers.metrics.object_labels import OBJECT, ObjectGauge, Series, labels_of


class BrokerTelemetry:
    """The BrokerMeter port.

    Args:
        registry: where the metrics are published.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._gauges: list[ObjectGauge] = []
        self._state = self._gauge("seawall_broker_state", "1 for the state that a broker is in", "broker", "state")
        self._leaders = self._gauge("seawall_broker_leaders", "Partitions that a broker leads", "broker")
        self._replicas = self._gauge("seawall_broker_replicas", "Replicas on a broker", "broker")
        self._behind = self._gauge(
            "seawall_broker_replicas_not_in_sync", "Replicas on a broker that are not in sync", "broker"
        )
        self._bytes = self._gauge(
            "seawall_broker_log_dir_bytes", "Bytes of all logs on a broker; absent when it does not tell", "broker"
        )
        self._throttle = self._gauge(
            "seawall_broker_throttle_bytes_per_second",
            "Bytes a second that somebody set for this one broker, the lesser of both directions; absent without",
            "broker",
        )
        self._partitions = self._gauge(
            "seawall_partitions_in_trouble",
            "Partitions by what they suffer from: Leaderless, UnderMinISR, UnderReplicated, NotPreferredLeader",
            "trouble",
        )
        self._lag = self._gauge(
            "seawall_quorum_voter_lag", "Records of Kafka's metadata that a voter lacks; absent when unknown", "voter"
        )

    def measure_brokers(self, key: Key, found: BrokersFound | None) -> None:
        """Replaces the metrics of one WALCluster's brokers."""
        if found is None:
            self.forget_brokers(key)
            return
        view, brokers = found.view, [(str(one.broker.id), one) for one in found.view.brokers]
        states = [(broker, one, state) for broker, one in brokers for state in BrokerState]
        rates = [(broker, least_of(one.own_rates)) for broker, one in brokers]
        voters = found.quorum.voters if isinstance(found.quorum, Quorum) else ()
        series: Mapping[ObjectGauge, Series] = {
            self._state: {(broker, state.value): one.broker.state is state for broker, one, state in states},
            self._leaders: {(broker,): one.leaders for broker, one in brokers},
            self._replicas: {(broker,): one.replicas for broker, one in brokers},
            self._behind: {(broker,): one.under_replicated for broker, one in brokers},
            self._bytes: {(broker,): one.log_dir_bytes for broker, one in brokers if one.log_dir_bytes is not None},
            self._throttle: {(broker,): rate for broker, rate in rates if rate is not None},
            self._partitions: {
                ("Leaderless",): view.leaderless.count,
                ("UnderMinISR",): view.under_min_isr.count,
                ("UnderReplicated",): view.under_replicated.count,
                ("NotPreferredLeader",): view.led_by_others.count,
            },
            self._lag: {(str(voter.id),): voter.lag for voter in voters},
        }
        for gauge, now in series.items():
            gauge.replace(key, now)

    def forget_brokers(self, key: Key) -> None:
        """Removes the metrics of a WALCluster."""
        for gauge in self._gauges:
            gauge.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """Forgets everything: who does not lead knows nothing."""
        for gauge in self._gauges:
            gauge.clear()

    def _gauge(self, name: str, text: str, *labels: str) -> ObjectGauge:
        gauge = ObjectGauge(name, text, [*OBJECT, *labels], registry=self._registry)
        self._gauges.append(gauge)
        return gauge
