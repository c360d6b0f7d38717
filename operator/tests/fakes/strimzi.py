"""Strimzi in memory: what people and its operators have made. It passes the Strimzi contract."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.domain.errors import Forbidden, OutsideUnavailable
from seawall.domain.sharing import KafkaRebalance, KafkaTopic, StrimziKafka, StrimziView


class FakeStrimzi:
    """Its resources.

    Attributes:
        is_installed: whether there are CRDs.
        is_forbidden: whether the operator's Role lacks the right to list them.
        is_silent: whether the API server does not list them: it cannot convert one, or is overloaded.
    """

    def __init__(self, *, is_installed: bool = False) -> None:
        self.is_installed = is_installed
        self.is_forbidden = self.is_silent = False
        self._kafkas: dict[Key, StrimziKafka] = {}
        self._topics: dict[Key, KafkaTopic] = {}
        self._rebalances: dict[Key, KafkaRebalance] = {}

    def observe(self) -> StrimziView | None:
        """All that there is."""
        if not self.is_installed:
            return None
        if self.is_silent:
            raise OutsideUnavailable("listing kafkas: 500 request to convert CR from an invalid group/version")
        if self.is_forbidden:
            raise Forbidden("listing kafkas: 403 kafkas.kafka.strimzi.io is forbidden")
        return StrimziView([*self._kafkas.values()], [*self._topics.values()], [*self._rebalances.values()])

    def put_kafka(self, key: Key, cluster_id: str | None) -> None:
        """Somebody makes a Kafka, and Strimzi learns its cluster id."""
        self.is_installed = True
        self._kafkas[key] = StrimziKafka(key, cluster_id)

    def put_topic(
        self, key: Key, topic: str | None = None, cluster: str | None = None, *, managed: str | None = None
    ) -> None:
        """Somebody makes a KafkaTopic, or edits it; `managed` is the annotation's value."""
        self.is_installed = True
        self._topics[key] = KafkaTopic(key, topic or key.name, cluster, managed != "false")

    def put_rebalance(self, key: Key, cluster: str | None = None, state: str = "") -> None:
        """Somebody makes a KafkaRebalance, and Strimzi says how far it is."""
        self.is_installed = True
        self._rebalances[key] = KafkaRebalance(key, cluster, state)

    def delete_topic(self, key: Key) -> None:
        """Somebody deletes a KafkaTopic."""
        del self._topics[key]
