"""The port `KafkaPods` on the API server."""

from __future__ import annotations

from datetime import datetime

from seawall.adapters.kube.api import KubeApi
from seawall.domain.managed_kafka.found import FoundPod, InSync
from seawall.domain.managed_kafka.names import IN_SYNC_GATE


class KubeKafkaPods:
    """Patches the status of a pod. UID and resource version in the patch make it a compare-and-swap."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def say_in_sync(self, namespace: str, pod: FoundPod, said: InSync, now: datetime) -> None:
        """Conditions are merged by their type, so those of the kubelet stay."""
        condition = {
            "type": IN_SYNC_GATE,
            "status": "True" if said.holds else "False",
            "reason": said.reason,
            "message": said.message,
        }
        if pod.in_sync is None or pod.in_sync.holds != said.holds:
            condition["lastTransitionTime"] = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        body = {
            "metadata": {"uid": pod.uid, "resourceVersion": pod.version},
            "status": {"conditions": [condition]},
        }
        self._api.merge_by_key(f"/api/v1/namespaces/{namespace}/pods/{pod.name}/status", body)
