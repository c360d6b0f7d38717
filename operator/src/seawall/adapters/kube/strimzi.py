"""The port `Strimzi` on the API server.

Strimzi served v1beta2 up to 0.48, both from 0.49 on, and v1 alone from 1.0 on: the API server says which there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seawall.adapters.kube.api import KubeApi
from seawall.api.meta import Key
from seawall.domain.sharing import KafkaRebalance, KafkaTopic, StrimziKafka, StrimziView

GROUP = "/apis/kafka.strimzi.io"
CLUSTER_LABEL = "strimzi.io/cluster"
MANAGED_ANNOTATION = "strimzi.io/managed"
STATES = frozenset(
    {
        "New",
        "NotReady",
        "PendingProposal",
        "ProposalReady",
        "Ready",
        "Rebalancing",
        "ReconciliationPaused",
        "Stopped",
    }
)
"""The state of a KafkaRebalance is the type of a condition; others, as warnings, stand beside it."""

Raw = Mapping[str, Any]


class KubeStrimzi:
    """Lists Strimzi's resources.

    Args:
        api: the connection.
        namespaces: where they are; empty means all.
    """

    def __init__(self, api: KubeApi, namespaces: Sequence[str]) -> None:
        self._api = api
        self._scopes = [f"/namespaces/{namespace}" for namespace in namespaces] or [""]

    def observe(self) -> StrimziView | None:
        """Lists Kafkas, KafkaTopics and KafkaRebalances; a kind without a CRD has no objects."""
        group = self._api.get(GROUP)
        if group is None:
            return None
        versions = dict.fromkeys(
            [group["preferredVersion"]["version"], *(each["version"] for each in group["versions"])]
        )
        return StrimziView(
            kafkas=[_kafka(raw) for raw in self._list(versions, "kafkas")],
            topics=[_topic(raw) for raw in self._list(versions, "kafkatopics")],
            rebalances=[_rebalance(raw) for raw in self._list(versions, "kafkarebalances")],
        )

    def _list(self, versions: Iterable[str], plural: str) -> list[Raw]:
        """In the first version that is served."""
        for version in versions:
            answers = [self._api.get(f"{GROUP}/{version}{scope}/{plural}") for scope in self._scopes]
            if None not in answers:
                return [raw for answer in answers if answer is not None for raw in answer["items"]]
        return []


def _kafka(raw: Raw) -> StrimziKafka:
    return StrimziKafka(_key(raw), (raw.get("status") or {}).get("clusterId"))


def _topic(raw: Raw) -> KafkaTopic:
    annotations = raw["metadata"].get("annotations") or {}
    name = (raw.get("spec") or {}).get("topicName") or raw["metadata"]["name"]
    return KafkaTopic(_key(raw), name, _cluster(raw), annotations.get(MANAGED_ANNOTATION) != "false")


def _rebalance(raw: Raw) -> KafkaRebalance:
    kinds = [str(each.get("type")) for each in (raw.get("status") or {}).get("conditions") or ()]
    return KafkaRebalance(_key(raw), _cluster(raw), next((kind for kind in kinds if kind in STATES), ""))


def _cluster(raw: Raw) -> str | None:
    found: str | None = (raw["metadata"].get("labels") or {}).get(CLUSTER_LABEL)
    return found


def _key(raw: Raw) -> Key:
    return Key(raw["metadata"]["namespace"], raw["metadata"]["name"])
