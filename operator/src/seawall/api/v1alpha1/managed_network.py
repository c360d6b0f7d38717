"""Whose connections reach the ports of a Kafka that Seawall runs, in clusters whose network knows NetworkPolicies."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StrictBool, StrictStr

from seawall.api.meta import APIModel, Rule

MOST_PEERS = 16
LabelValue = Annotated[StrictStr, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]


class LabelSelector(APIModel):
    """What has all of these labels; of an empty one everything has them."""

    match_labels: Annotated[dict[str, LabelValue], Field(max_length=8)] = Field(default_factory=dict)
    """The labels and their values."""


class NetworkPeer(APIModel):
    """Pods, as a NetworkPolicy of Kubernetes names them."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.namespaceSelector) || has(self.podSelector)",
            "clientsFrom: each has a namespaceSelector, a podSelector, or both",
            lambda peer: peer.namespace_selector is not None or peer.pod_selector is not None,
        ),
    )

    namespace_selector: LabelSelector | None = None
    """The namespaces of the pods; absent: this one."""
    pod_selector: LabelSelector | None = None
    """The pods; absent: all of those namespaces."""


class ManagedNetworkPolicy(APIModel):
    """Who may connect to the pods of a Kafka that Seawall runs."""

    enabled: StrictBool = True
    """Whether there is a NetworkPolicy. One that Seawall made goes with false."""
    clients_from: Annotated[tuple[NetworkPeer, ...], Field(max_length=MOST_PEERS)] = ()
    """Whose pods reach the port for clients. Default: those of this namespace; who names others names this one, too, if
    its pods are clients."""
