"""The guards of a Kafka node's restart are taken away one by one: a law is broken, or a story ends badly."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from seawall.api.v1alpha1.rollout import RollStatus
from seawall.domain.kafka_nodes import checks
from seawall.domain.kafka_nodes.facts import KafkaFacts, KafkaNode
from seawall.domain.kafka_nodes.gate import KafkaNodeGate, KafkaRollDecision, RenewTemplate
from seawall.domain.kafka_nodes.reasons import KafkaBlocker
from seawall.domain.rollout.decision import decided
from tests.domain.kafka_nodes import test_kafka_gate as gates
from tests.domain.kafka_nodes import test_kafka_rolls as stories
from tests.support.mutants import Mutant, find_survivors

Patch = pytest.MonkeyPatch


def _open(patch: Patch, *reasons: KafkaBlocker) -> None:
    patch.setattr(checks, "GATE", MappingProxyType({**checks.GATE, **dict.fromkeys(reasons, lambda _: None)}))


def no_dwell(patch: Patch) -> None:
    """A node is back as soon as Kafka says so."""
    patch.setattr(KafkaFacts, "is_steady", KafkaFacts.is_well)


def back_by_one_look(patch: Patch) -> None:
    """The journal lets go of a node that Kafka counts on, for the first time or by an old answer."""
    patch.setattr(KafkaNodeGate, "is_back", lambda self, _, member: self.facts.is_well(member))


def others_ignored(patch: Patch) -> None:
    """Who else is away does not matter."""
    _open(patch, KafkaBlocker.NODE_NOT_ONLINE, KafkaBlocker.DWELL)


def min_isr_is_enough(patch: Patch) -> None:
    """Not all replicas have to be in sync."""
    _open(patch, KafkaBlocker.NOT_FULLY_IN_SYNC, KafkaBlocker.DWELL)


def voters_ignored(patch: Patch) -> None:
    """Nor the other voters caught up."""
    patch.setattr(KafkaNode, "is_online", property(lambda self: self.pod.ready and not self.pod.is_terminating))
    _open(patch, KafkaBlocker.QUORUM_DEGRADED)


def all_templates_at_once(patch: Patch) -> None:
    """Every node makes its next pod anew."""

    def renew(self: KafkaNodeGate, status: RollStatus) -> KafkaRollDecision | None:
        outdated = [node.id for node in self.members if not node.has_newest_template]
        found = tuple(RenewTemplate(number) for number in outdated)
        return decided(status, "", "", found) if found else None

    patch.setattr(KafkaNodeGate, "before_next", renew)


def newer_operators_restart(patch: Patch) -> None:
    """A newer Seawall is a cause like any other."""
    patch.setattr(KafkaNodeGate, "_is_outdated", lambda _, node: node.cause is not None)


def active_controller_anywhere(patch: Patch) -> None:
    """Who leads the quorum is not asked."""
    original = KafkaNodeGate._rank
    patch.setattr(KafkaNodeGate, "_rank", lambda self, node, first: (original(self, node, first)[0], False, node.id))


def back_with_a_template_ahead(patch: Patch) -> None:
    """A node is back although its StatefulSet would make another pod."""
    patch.setattr(
        KafkaNodeGate, "is_back", lambda self, entry, member: member.uid != entry.uid and self.facts.is_steady(member)
    )


def stopped_is_not_asked(patch: Patch) -> None:
    """A person's word lets any node go whose Kafka is silent."""
    patch.setattr(KafkaNode, "has_stopped", property(lambda _: True))


def no_template_taken_back(patch: Patch) -> None:
    """An edit that is taken back stays in the StatefulSet."""
    honest = KafkaNodeGate._renew
    patch.setattr(
        KafkaNodeGate,
        "_renew",
        lambda self, status, member: decided(status, "", "") if member.cause is None else honest(self, status, member),
    )


MUTANTS: tuple[Mutant, ...] = (
    (back_with_a_template_ahead, stories.a_template_that_was_renewed_for_nothing),
    (no_template_taken_back, stories.an_edit_that_is_taken_back),
    (no_dwell, stories.late_look),
    (back_by_one_look, stories.late_look),
    (others_ignored, stories.test_a_broker_that_is_down_keeps_all_others_up_although_it_has_no_replicas),
    (min_isr_is_enough, stories.one_behind),
    (voters_ignored, stories.voter_behind),
    (all_templates_at_once, stories.templates),
    (stopped_is_not_asked, gates.test_what_does_not_run_is_mended_by_a_persons_word_though_nobody_answers),
    (newer_operators_restart, stories.test_a_newer_seawall_restarts_nothing_before_somebody_says_so),
    (active_controller_anywhere, stories.test_followers_of_the_quorum_then_brokers_then_the_active_controller),
)


def test_every_guard_of_a_kafka_nodes_restart_is_needed() -> None:
    assert not find_survivors(MUTANTS)
