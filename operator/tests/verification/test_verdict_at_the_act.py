"""A log that is found bad between the decision and the act keeps all that it has."""

from __future__ import annotations

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.api.v1alpha1.verification import WALVerification
from seawall.controllers import permission, purge
from seawall.domain.errors import Forbidden
from seawall.domain.purge.actions import Announce, DeleteRecords
from tests.ledger.test_licences import freeze
from tests.purge.test_purge_verified import REQUIRED, flush_all, skipped
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.verification.test_verification_doubts import test_a_bad_verdict_counts_also_when_its_spec_cannot_be_read
from tests.worlds.purge_world import NAMESPACE, Calls
from tests.worlds.verification_world import VerificationWorld

LATER = Key(NAMESPACE, "later")


def judge_only(world: VerificationWorld) -> None:
    """The other verification has its verdict, and cannot let its hold go."""
    calls = Calls(world.check)

    def refuse(name: str) -> None:
        if name == "delete":
            raise Forbidden("holds may not be deleted")

    calls.before = refuse
    process = world.verifier(calls)
    for _ in range(20):
        found = world.settle_job(process, WALVerification, LATER, ticks=10)
        if found.status.stage is JobStage.RELEASING:
            return
    raise AssertionError("it comes to no verdict")


def purged_meanwhile(kind: type, *, bad: frozenset[str], hold_stays: bool = False) -> VerificationWorld:
    """All topics were good; while the leader is frozen, another verification ends, or has its verdict."""
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()

    def meanwhile() -> None:
        world.bad = set(bad)
        world.start(LATER.name)
        if hold_stays:
            judge_only(world)
        else:
            world.settle_job(world.verifier(), WALVerification, LATER)

    world.start_run(safety=REQUIRED)
    patch = freeze(kind, meanwhile)
    try:
        world.settle()
    finally:
        patch.undo()
    return world


@pytest.mark.parametrize("hold_stays", [False, True], ids=["over", "hold-stays"])
@pytest.mark.parametrize("kind", [Announce, DeleteRecords])
def test_a_log_that_is_found_bad_while_the_leader_is_frozen_keeps_its_records(kind: type, *, hold_stays: bool) -> None:
    world = purged_meanwhile(kind, bad=frozenset({"wal_1"}), hold_stays=hold_stays)
    assert world.log_starts() == {"wal_0": 36, "wal_1": 0, "wal_2": 36}
    assert kind is DeleteRecords or not world.store.snapshot().topics["wal_1"].pruned_entry_id


def test_a_log_that_is_found_bad_keeps_its_records_while_the_hold_cannot_be_let_go() -> None:
    world = VerificationWorld()
    flush_all(world)
    world.start()
    world.settle_verification()
    world.bad = {"wal_1"}
    world.start(LATER.name)
    judge_only(world)
    world.start_run(safety=REQUIRED)
    assert skipped(world.settle()) == {"VerificationMissing"}
    assert world.log_starts() == {"wal_0": 36, "wal_1": 0, "wal_2": 36}


def test_another_good_verdict_stops_nothing() -> None:
    world = purged_meanwhile(DeleteRecords, bad=frozenset())
    assert set(world.log_starts().values()) == {36}


def test_a_verdict_that_is_not_asked_for_at_the_act_is_missed() -> None:
    def in_announce() -> None:
        test_a_log_that_is_found_bad_while_the_leader_is_frozen_keeps_its_records(Announce, hold_stays=False)

    def in_delete() -> None:
        test_a_log_that_is_found_bad_while_the_leader_is_frozen_keeps_its_records(DeleteRecords, hold_stays=False)

    question = "    require_verdicts(self.kube, cluster, action.cluster)\n"
    assert not find_survivors(
        [
            (rewritten(purge.WALPurgeController, "_announce", question, ""), in_announce),
            (rewritten(purge.WALPurgeController, "_delete", question, ""), in_delete),
            (
                rewritten(permission, "require_verdicts", " - decided.found_bad", "", purge),
                test_a_bad_verdict_counts_also_when_its_spec_cannot_be_read,
            ),
        ]
    )
