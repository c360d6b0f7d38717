"""The Kafka nodes as members of a roll: one new template, one eviction, and back when it is in sync for long enough.

The order: those that are down, controllers that follow, brokers, the active controller last: one failover a roll.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.rollout import RollStatus
from seawall.domain.decision import Decision
from seawall.domain.events import EventReason
from seawall.domain.kafka_nodes.checks import Candidate, let_through, refusal
from seawall.domain.kafka_nodes.facts import KafkaFacts, KafkaNode
from seawall.domain.kafka_nodes.reasons import KafkaCause
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.decision import changed, decided
from seawall.domain.rollout.finish import restarts
from seawall.domain.rollout.gate import RolloutGate
from seawall.domain.rollout.refusal import Refusal
from seawall.domain.rollout.requests import requested
from seawall.domain.rollout.workload import APPROVE_ROLLOUT_ANNOTATION
from seawall.domain.rollout_reasons import Reason
from seawall.domain.step import Event, EventType


@dataclass(frozen=True, slots=True)
class RenewTemplate:
    """Let the StatefulSet of one node make its next pod as the node is declared now; no pod is restarted by it.

    Attributes:
        node: its id.
        name: of its pod.
        declared: the hash of what the node is to be made of.
    """

    node: int
    name: str = ""
    declared: str = ""

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.KAFKA_TEMPLATE_RENEWED, f"{self.name} will be made as {self.declared} says"
        )


KafkaAction = RenewTemplate | Evict
KafkaRollDecision = Decision[RollStatus, KafkaAction]


@dataclass(frozen=True, slots=True)
class KafkaNodeGate(RolloutGate[RollStatus, KafkaAction, KafkaNode]):
    """What one tick knows of the nodes; `forbidden`: what a PodDisruptionBudget answered to its eviction."""

    facts: KafkaFacts
    forbidden: str | None = None

    @property
    def kind(self) -> str:
        """Of its entries in the journal."""
        return DisruptionKind.KAFKA_NODE_RESTART

    @property
    def noun(self) -> str:
        """What a member is called."""
        return "Kafka node"

    @property
    def now(self) -> datetime:
        """By the clock that all operators share."""
        return self.facts.now

    @property
    def members(self) -> tuple[KafkaNode, ...]:
        """Those with a pod."""
        return self.facts.nodes

    @property
    def override_problem(self) -> str | None:
        """Why `seawall.dev/override-restart-gate` lets nothing through."""
        return self.facts.override_problem

    def due(self, status: RollStatus) -> Collection[str]:
        """Those with a cause, or asked for. A newer Seawall alone restarts nothing."""
        return [node.name for node in self.members if self._is_due(status, node)]

    def order(self, status: RollStatus, first_uid: str | None = None) -> tuple[KafkaNode, ...]:
        """Down ones, followers of the metadata quorum, brokers, the active controller."""
        due = [node for node in self.members if self._is_due(status, node)]
        return tuple(sorted(due, key=lambda node: self._rank(node, first_uid)))

    def refusal(self, status: RollStatus, member: KafkaNode, *, is_chosen: bool) -> Refusal | None:  # noqa: ARG002 - both times
        """The first predicate that holds."""
        return refusal(Candidate(member, self.facts))

    def begins(self, status: RollStatus, member: KafkaNode) -> tuple[RollStatus, Disruption]:
        """The pod that goes."""
        budget = int(self.facts.start_budget.total_seconds())
        entry = Disruption(kind=self.kind, name=member.name, uid=member.uid, start_time=self.now, budget_seconds=budget)
        return status, entry

    def act(self, status: RollStatus, member: KafkaNode) -> KafkaRollDecision:
        """Its template first: a pod that is made anew has the newest one, and none that was declared meanwhile."""
        if not member.has_newest_template and (self._is_outdated(member) or member.cause is None):
            return self._renew(status, member)
        passed = let_through(Candidate(member, self.facts))
        override = self.facts.override
        by_whom = "" if override is None else f", let through {override.until_and_why}"
        evict: KafkaAction = Evict(member.pod, "" if passed is None else f"{passed.message}{by_whom}")
        return restarts(status, member.name, evict, self._why_forbidden(member))

    def gone(self, status: RollStatus, entry: Disruption) -> KafkaRollDecision:
        """The new one has to start, and to catch up."""
        return changed(status, Reason.RESTARTING, f"{entry.name} is gone, and comes back")

    def is_back(self, entry: Disruption, member: KafkaNode) -> bool:
        """Another pod, Online and in sync, for long enough; and its StatefulSet is not ahead of it."""
        return member.uid != entry.uid and member.has_own_template and self.facts.is_steady(member)

    def returning(self, status: RollStatus, entry: Disruption) -> KafkaRollDecision:
        """What it lacks."""
        return decided(status, Reason.RESTARTING, f"{entry.name} comes back: {self._lacks(entry)}")

    def mends(self, status: RollStatus, entry: Disruption, member: KafkaNode) -> KafkaRollDecision | None:
        """The new pod, or another that does not run, is not as declared by now, and its restart takes nothing away."""
        return self._mends_it(status, entry, member) or self._mends_others(status, entry, member)

    def _mends_it(self, status: RollStatus, entry: Disruption, member: KafkaNode) -> KafkaRollDecision | None:
        if member.uid == entry.uid or member.gone_by is not None:
            return None
        if member.cause is None:  # only its StatefulSet is not: that restarts nothing
            return None if member.has_newest_template or self.facts.is_paused else self._renew(status, member)
        is_other = self._is_outdated(member) or not member.has_own_template
        is_let = is_other and refusal(Candidate(member, self.facts)) is None
        return self.act(status, member) if is_let else None

    def _mends_others(self, status: RollStatus, entry: Disruption, member: KafkaNode) -> KafkaRollDecision | None:
        """Others that do not run, by a person's word, when this one does as declared: it may wait for them.

        The entry stays, so nobody goes who runs. All templates first: then people may delete what a budget keeps.
        """
        if self.facts.override is None or not (member.runs and member.has_newest_template and member.cause is None):
            return None
        others = [node for node in self.members if node.name != entry.name and node.has_stopped and not node.gone_by]
        outdated = sorted(filter(self._is_outdated, others), key=lambda node: self._rank(node, None))
        let = [node for node in outdated if refusal(Candidate(node, self.facts)) is None]
        first = next((node for node in let if not node.has_newest_template), next(iter(let), None))
        return None if first is None else self.act(status, first)

    def diagnosis(self, status: RollStatus, entry: Disruption) -> str:  # noqa: ARG002 - of others
        """What it lacks, and the last words of its container."""
        node = next((node for node in self.members if node.name == entry.name), None)
        last = None if node is None else node.pod.last_termination
        said = "" if last is None else f"; its last words: {last.reason}, exit code {last.exit_code} {last.message}"
        waits = None if node is None or node.cause is None else refusal(Candidate(node, self.facts))
        why = "" if waits is None else f"; it is to be made anew, but {waits.message}"
        return f"{self._lacks(entry)}{said.rstrip()}{why}"

    def nothing_to_do(self, status: RollStatus) -> tuple[str, str]:  # noqa: ARG002 - of others
        """A plan that waits for a person is told."""
        waiting = [node.name for node in self.facts.nodes if node.cause is KafkaCause.OPERATOR_CHANGED]
        if waiting and not self.facts.is_approved:
            by_whom = f"set {APPROVE_ROLLOUT_ANNOTATION}: {self.facts.plan} to let them"
            return Reason.NOTHING_TO_DO, f"{len(waiting)} Kafka nodes would change by a newer Seawall: {by_whom}"
        return Reason.NOTHING_TO_DO, "no Kafka node is to be restarted"

    def _renew(self, status: RollStatus, member: KafkaNode) -> KafkaRollDecision:
        renew: KafkaAction = RenewTemplate(member.id, member.name, member.declared)
        return restarts(status, member.name, renew, None)

    def _why_forbidden(self, member: KafkaNode) -> str | None:
        """Budgets keep what does not run, too, while another pod of theirs is not Ready. People need not ask them."""
        if self.forbidden is None or not member.has_stopped:
            return self.forbidden
        command = f"kubectl delete pod {member.name} -n {member.pod.key.namespace}"
        return f"{self.forbidden} Its container does not run, so it may go all the same: {command}"

    def _is_due(self, status: RollStatus, node: KafkaNode) -> bool:
        return self._is_outdated(node) or requested(status).get(node.name) == node.uid

    def _is_outdated(self, node: KafkaNode) -> bool:
        return node.cause is not None and (node.cause is not KafkaCause.OPERATOR_CHANGED or self.facts.is_approved)

    def _rank(self, node: KafkaNode, first_uid: str | None) -> tuple[bool, bool, bool, bool, int]:
        is_active = node.id == self.facts.active_controller
        return (node.is_online, is_active, not node.is_controller, node.uid != first_uid, node.id)

    def _lacks(self, entry: Disruption) -> str:
        node = next((node for node in self.members if node.name == entry.name), None)
        if node is None:
            return "its pod is not there"
        if node.uid == entry.uid or node.pod.is_terminating:
            return "the old pod ends"
        if not node.pod.ready:
            return f"its pod is not Ready{f' ({node.pod.waiting})' if node.pod.waiting else ''}"
        if not node.is_online:
            return "Kafka does not count on it yet"
        return self._lacks_in_sync(node) if self.facts.is_well(node) else "its replicas catch up"

    def _lacks_in_sync(self, node: KafkaNode) -> str:
        if node.has_own_template:
            return "it has been in sync for too short a time"
        found = refusal(Candidate(node, self.facts))
        return "it is made anew once more" if found is None else f"it is to be made anew, but {found.message}"
