"""Pools of nodes of a Kafka that Seawall runs, as people declare them."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated, ClassVar

from pydantic import Field, PrivateAttr, StrictBool, StrictStr

from seawall.api.meta import APIModel, Name, Rule
from seawall.api.quantity import MAX_LARGE, MI, LargeBytes, bytes_rule
from seawall.api.text import SPACE
from seawall.api.unique import Unique

IDS_OF_A_POOL = 100
"""Node ids of a pool are firstId to firstId + 99."""
MOST_HEAP = 6 * 1024 * MI
DEFAULT_HEAP = 512 * MI


class NodeRole(StrEnum):
    """What a node of Kafka does (process.roles)."""

    CONTROLLER = "controller"
    """It votes on Kafka's metadata."""
    BROKER = "broker"
    """It keeps topics and serves clients."""


class NodeStorage(APIModel):
    """The volume of each node."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        bytes_rule("size", MAX_LARGE),
        Rule(
            "quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0",
            "storage.size may only grow: a volume does not shrink",
        ),
        Rule(
            "has(self.className) == has(oldSelf.className)"
            " && (!has(self.className) || self.className == oldSelf.className)",
            "storage.className is immutable: a volume does not change its class",
        ),
    )

    size: LargeBytes
    """Its size. It may grow, if its StorageClass lets volumes grow; no node is restarted for it."""
    class_name: Name | None = None
    """Its StorageClass; absent: the cluster's default. Immutable."""
    delete_claim: StrictBool = False
    """Whether the volume of a node that is taken out is deleted. Else it stays, and is told."""


class NodeAmounts(APIModel):
    """CPU and memory."""

    RULES: ClassVar[tuple[Rule, ...]] = (bytes_rule("memory", MAX_LARGE),)

    cpu: Annotated[StrictStr, Field(max_length=16, pattern=r"^[0-9]{1,6}m?$")] | None = None
    """CPUs, such as 500m or 2."""
    memory: LargeBytes | None = None
    """Bytes of memory."""


class NodeResources(APIModel):
    """What each node asks for, and gets at most."""

    requests: NodeAmounts = NodeAmounts()
    """What the scheduler sets aside."""
    limits: NodeAmounts = NodeAmounts()
    """What it cannot exceed."""


class AntiAffinity(StrEnum):
    """Whether nodes of a pool may be on one machine."""

    REQUIRED = "Required"
    """No two of them."""
    PREFERRED = "Preferred"
    """Not if there is another machine. For tests on one machine: replicas on one are no replicas."""


class NodePlacement(APIModel):
    """Where the pods of a pool may be."""

    anti_affinity: AntiAffinity = AntiAffinity.REQUIRED
    """Whether two nodes of the pool may be on one machine."""
    node_selector: Annotated[dict[str, Annotated[StrictStr, Field(max_length=63)]], Field(max_length=16)] = Field(
        default_factory=dict
    )
    """Labels that their machines must have."""
    priority_class_name: Name | None = None
    """Their PriorityClass."""


class NodePool(APIModel):
    """Nodes of Kafka that are alike."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.roles == oldSelf.roles && self.firstId == oldSelf.firstId",
            "roles and firstId are immutable: a node id belongs to what is on its volume",
        ),
        Rule(
            "self.replicas == oldSelf.replicas || self.roles.size() == 1",
            "replicas of a pool with both roles is immutable: this version changes the votes of pure controllers alone",
        ),
        Rule(
            "!self.roles.exists(r, r == 'controller') || self.replicas >= oldSelf.replicas || self.replicas >= 3",
            "three or five controllers do not become one: of the two on the way both would be needed",
        ),
        Rule(
            f"self.firstId % {IDS_OF_A_POOL} == 0",
            f"firstId must be a multiple of {IDS_OF_A_POOL}",
            lambda pool: pool.first_id % IDS_OF_A_POOL == 0,
        ),
        Rule(
            "!self.roles.exists(r, r == 'controller') || self.replicas in [1, 3, 5]",
            "controllers are 1, 3 or 5: an even one more does not outvote anybody",
            lambda pool: not pool.is_controller or pool.replicas in {1, 3, 5},
        ),
        Rule(
            "!has(self.heap) || !has(self.resources) || !has(self.resources.limits)"
            " || !has(self.resources.limits.memory)"
            " || quantity(string(self.heap)).isLessThan(quantity(string(self.resources.limits.memory)))",
            "heap must be below resources.limits.memory",
            lambda pool: (
                pool.heap is None or pool.resources.limits.memory is None or pool.heap < pool.resources.limits.memory
            ),
        ),
        bytes_rule("heap", MAX_LARGE),
    )

    name: Annotated[StrictStr, Field(min_length=1, max_length=20, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
    """Its name."""
    roles: Annotated[tuple[NodeRole, ...], Field(min_length=1, max_length=2, json_schema_extra={"set": True}), Unique]
    """What its nodes do. Immutable."""
    first_id: Annotated[int, Field(strict=True, ge=0, le=9900)]
    """Node id of the first one; the others follow. A multiple of 100, of no other pool. Immutable."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=32)]
    """How many there are. New ones get the ids that follow, each is used once; those with the highest ids are taken out
    when nothing is on them any more. Controllers are 1, 3 or 5, and three do not become one; all nodes are restarted
    one by one when their number is another. Immutable for a pool with both roles."""
    storage: NodeStorage
    """The volume of each."""
    resources: NodeResources = NodeResources()
    """CPU and memory of each."""
    heap: LargeBytes | None = None
    """Java's heap. Default: half of resources.limits.memory, at most 6Gi; 512Mi without such a limit."""
    java_options: Annotated[
        tuple[Annotated[StrictStr, Field(min_length=2, max_length=256, pattern=rf"^-[^{SPACE}'\"\\$`]+$")], ...],
        Field(max_length=16),
    ] = ()
    """More options of Java, each without spaces."""
    placement: NodePlacement = NodePlacement()
    """Where its pods may be."""

    @property
    def is_controller(self) -> bool:
        """Whether its nodes vote."""
        return NodeRole.CONTROLLER in self.roles

    @property
    def is_broker(self) -> bool:
        """Whether its nodes keep topics."""
        return NodeRole.BROKER in self.roles

    _gone: frozenset[int] = PrivateAttr(default=frozenset())
    """Ids that are not used again: the status knows them, no text of a spec does."""

    def without(self, gone: frozenset[int]) -> NodePool:
        """The same pool, whose nodes have none of these ids either."""
        if gone <= self._gone:
            return self  # nobody can change it, and it is asked for at every look
        found = self.model_copy()
        found._gone = self._gone | gone  # noqa: SLF001 - its own
        return found

    @property
    def gone(self) -> frozenset[int]:
        """Ids that none of its nodes has."""
        return self._gone

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of its nodes: the first that were not taken out."""
        own, gone = range(self.first_id, self.first_id + IDS_OF_A_POOL), self._gone
        return tuple(
            islice((each for each in own if each not in gone), self.replicas) if gone else own[: self.replicas]
        )

    @property
    def heap_bytes(self) -> int:
        """Java's heap."""
        memory = self.resources.limits.memory
        return self.heap or (DEFAULT_HEAP if memory is None else min(memory // 2, MOST_HEAP))
