"""What is flushed and measured once more before a pod goes is taken away piece by piece. Prints the kills."""

from __future__ import annotations

from functools import partial

from seawall.domain.datanodes import entry, flush, gate, health
from seawall.domain.datanodes.gate import DatanodeGate
from seawall.domain.rollout import finish
from tests.datanodes import test_restart_flushed_anew as stories
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten

FORBIDDEN_FOR_LONG = partial(
    stories.test_a_datanode_whose_restart_was_forbidden_for_long_flushes_anew_before_it_goes, minutes=11
)
SHUT_FOR_LONG = stories.test_a_datanode_whose_gate_was_shut_for_long_flushes_anew_before_it_goes

THOUSANDS = stories.test_a_thousand_regions_after_the_other_flush_until_all_were_asked

MUTANTS: tuple[Mutant, ...] = (
    (rewritten(DatanodeGate, "act", "self._flush_anew(status, member)", "None"), FORBIDDEN_FOR_LONG),
    (
        rewritten(DatanodeGate, "_flush_anew", "meanwhile(give_back(status, self.facts), found)", "found"),
        stories.test_a_database_leaves_maintenance_before_regions_flush_anew,
    ),
    (
        rewritten(DatanodeGate, "_flush_anew", ", RollStage.RESTARTING", ""),
        SHUT_FOR_LONG,
    ),
    (
        rewritten(flush, "flush", "time=asked.start_time", "time=facts.now", gate),
        stories.test_a_flush_counts_from_when_it_was_asked_for,
    ),
    (rewritten(flush, "flush", "if rest:", "if False:", gate), THOUSANDS),
    (
        rewritten(flush, "flush", "if rest:", "if False:", gate),
        stories.test_all_regions_flush_before_a_datanode_goes_also_those_that_were_not_asked_at_first,
    ),
    (rewritten(flush, "flush", "facts.now, regions=rest", "asked.start_time, regions=rest", gate), THOUSANDS),
    (rewritten(flush, "_candidates", "region.unlogged_bytes is None or region.region > beyond", "True"), THOUSANDS),
    (rewritten(flush, "_turn", " if is_logged else 0", ""), THOUSANDS),
    (
        rewritten(flush, "_not_asked", "found and found[0].unlogged_bytes is not None", "True"),
        stories.test_a_thousand_regions_and_no_more_flush_in_one_go,
    ),
    (
        rewritten(flush, "_not_asked", " if ids == sorted(ids) else -1", ""),
        stories.test_what_an_older_version_asked_in_another_order_is_asked_anew,
    ),
    (
        rewritten(
            flush,
            "_stops",
            "_candidates(facts.datanodes[pod.name], all_of_them=False, lives=pod.ready)",
            "asked.regions",
        ),
        stories.test_who_does_not_flush_among_the_second_thousand_stops_the_restart_and_all_flush_anew_when_it_has,
    ),
    (
        rewritten(entry, "noted", "epoch == before.epoch", "True", gate),
        stories.test_a_container_that_begins_anew_while_its_restart_waits_is_the_process_that_goes,
    ),
    (
        rewritten(health, "_is_expected", "entry.gone_time is not None", "True"),
        stories.test_a_datanode_that_fails_while_its_restart_waits_is_not_one_that_restarts,
    ),
    (
        rewritten(DatanodeGate, "measured_anew", "return measured_anew(entry, status, self.facts)", "return entry"),
        stories.test_what_a_restart_may_take_is_measured_when_the_pod_goes,
    ),
    (
        rewritten(finish, "_goes", "gate.gone(status, found)", "gate.gone(status, entry)"),
        stories.test_what_a_restart_may_take_is_measured_when_the_pod_goes,
    ),
    (
        rewritten(entry, "measured_anew", "datanode.recorded_epoch != before.epoch", "False", gate, stories),
        stories.test_a_new_process_is_no_measure_of_what_it_had_to_read,
    ),
)


def test_all_that_is_done_once_more_before_a_pod_goes_is_needed() -> None:
    assert not find_survivors(MUTANTS)
