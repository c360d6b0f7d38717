"""The operator's adapters for tests that ask what is answered, not how fast: four workers share the processors."""

from __future__ import annotations

from seawall.adapters.kube.api import KubeApi
from seawall.adapters.times import KUBE_PERSON_SECONDS


def kube_api(connections: int = 1, *, is_anonymous: bool = False) -> KubeApi:
    """Requests as the operator makes them, with the deadline of a person."""
    return KubeApi(connections, is_anonymous=is_anonymous, request_seconds=KUBE_PERSON_SECONDS)
