"""The guards of a roll of certificates are taken away one by one: each story must then end badly. Prints the kills."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest

from seawall.controllers import kafka_roll
from seawall.controllers.kafka_roll import KafkaRollController
from seawall.domain.managed_kafka import certificates as fitting
from seawall.domain.managed_kafka import decide, plan, renewal, roll_facts, wanted_certificates
from seawall.domain.managed_kafka.case import Case
from seawall.observe import certificates
from tests.kafka_security import test_certificates
from tests.managed_kafka import test_certificate_roll as stories
from tests.support.mutants import Mutant, find_survivors, in_a_copy
from tests.support.source_mutants import rewritten
from tests.worlds.certificate_roll_world import CertificateRollWorld

Story = Callable[[CertificateRollWorld], object]


of = partial(in_a_copy, stories.BROUGHT_UP)


LEAVING = of(stories.test_nobody_gets_a_certificate_without_the_name_of_one_that_is_not_out_yet)


def ended() -> None:
    """A story that is of a newer Seawall by a patch of its own."""
    with pytest.MonkeyPatch.context() as patch:
        world = copy.deepcopy(stories.BROUGHT_UP)
        stories.test_a_certificate_that_ended_under_nodes_restarts_none_of_them_and_is_told_with_its_date(world, patch)


def newer() -> None:
    """The same."""
    with pytest.MonkeyPatch.context() as patch:
        world = copy.deepcopy(stories.BROUGHT_UP)
        stories.test_who_comes_back_while_a_newer_seawall_writes_it_in_another_way_is_back(world, patch)


RENEWED = of(stories.test_a_renewed_certificate_is_read_by_each_node_once_in_the_order_of_a_roll)
MUTANTS: tuple[Mutant, ...] = (
    (rewritten(wanted_certificates, "named_nodes", ", *leaving", "", fitting), LEAVING),
    (rewritten(roll_facts, "cause_of", "case.has_old_certificate(node)", "False"), RENEWED),
    (rewritten(roll_facts, "_member", " and case.certificate in {None, certificate}", ""), RENEWED),
    (
        rewritten(roll_facts, "_member", "reads_alike(certificate, pod.certificate)", "certificate == pod.certificate"),
        newer,
    ),
    (rewritten(KafkaRollController, "_renew", "cluster_id, case.certificate", "cluster_id"), RENEWED),
    (
        rewritten(plan, "_missing_of", "cluster_id, case.certificate", "cluster_id"),
        stories.test_the_first_template_tells_what_its_node_reads,
    ),
    (
        rewritten(Case, "has_old_certificate", "(read := self._read.get(node.id)) is not None", "False"),
        of(stories.test_one_that_is_dated_back_is_noticed_all_the_same),
    ),
    (
        rewritten(Case, "has_old_certificate", "pod.began < now.begins", "False"),
        of(stories.test_pods_that_do_not_tell_what_they_read_are_judged_by_when_it_was_issued),
    ),
    (
        rewritten(renewal, "_strangeness", "now.signed_by.isdisjoint(found.trusts)", "False"),
        of(stories.test_a_ca_that_those_who_run_do_not_know_restarts_nobody_and_is_told),
    ),
    (
        rewritten(renewal, "_strangeness", "now.trusted.isdisjoint(found.signed_by)", "False"),
        of(stories.test_a_ca_that_is_dropped_before_all_have_another_certificate_restarts_nobody),
    ),
    (
        rewritten(renewal, "_strangeness", "if node in ended", "if False"),
        ended,
    ),
    (
        rewritten(decide, "_with_why_silent", "why is None or why in verdict.message", "True"),
        of(stories.test_a_certificate_of_seawalls_is_named_also_where_no_roll_waits_for_it),
    ),
    (
        rewritten(roll_facts, "roll_facts", "(answer, case.why_silent)", "(answer,)", kafka_roll),
        of(stories.test_a_certificate_of_seawalls_that_is_faster_than_the_nodes_is_named),
    ),
    (
        rewritten(Case, "why_stranger", "node is None or each != node.id", "True"),
        of(stories.test_a_change_of_ca_in_mid_roll_waits_for_who_has_not_read_both_and_does_not_lock_itself_out),
    ),
    (
        rewritten(certificates, "_described", "[*content.chain, *content.authorities]", "content.chain"),
        test_certificates.test_a_ca_that_is_renewed_with_its_key_is_the_same_one_and_is_read_anew,
    ),
    (
        rewritten(
            certificates,
            "_identities",
            "each.subject.public_bytes() + _spki(each.public_key())",
            "each.fingerprint(hashes.SHA256())",
        ),
        test_certificates.test_a_ca_that_is_renewed_with_its_key_is_the_same_one_and_is_read_anew,
    ),
)


@pytest.mark.timeout(1_200)
def test_each_guard_of_a_roll_of_certificates_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
