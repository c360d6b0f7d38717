"""A chain that did not come back lets no other go: what a drill or another restore found outlasts its object."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackupStatus
from seawall.api.v1alpha1.backup_policy import BackupChain, WALBackupPolicy
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers import restore as restore_controller
from seawall.domain.backup import broken, chains, policy_case, policy_status, retention
from seawall.domain.backup import policy as policy_rules
from seawall.domain.backup.broken import CHAIN_BROKEN, NOT_DECODED, why_it_stays
from seawall.domain.backup.retention import Surroundings, find_needed, plan_expiry
from seawall.domain.backup.runs import OwnBackups
from seawall.domain.restore import decide as restoring
from seawall.domain.restore.reasons import Reason
from seawall.observe import restore_parts
from tests.backup import test_retention as policies
from tests.backup.test_backup_policy import TEN, PolicyWorld, settle
from tests.backup.test_backup_policy import declared as backed_up
from tests.backup.test_drills import TWENTY
from tests.backup.test_drills import declared as drilled
from tests.backup.test_retention import HOUR, START, row
from tests.fakes.kube import FakeKube
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.backup_world import POLICY
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.verification_world import why

FINDING = {"kind": "ObjectMissing", "message": "it is not there"}
ROWS = (row("a", 0), row("b", 2), row("c", 4))
"""Proved. By the clock of the policy b is what one goes back to, and c the newest."""


def verdict(reason: str, **status: Any) -> dict[str, Any]:
    """The status of a restore that ended so."""
    ready = {"type": "Ready", "status": "False", "reason": reason, "lastTransitionTime": START.isoformat()}
    ended = {"stage": "Failed", "completionTime": (START + 5 * HOUR).isoformat(), "location": "s3://wal"}
    return {**ended, "conditions": [ready], "findings": [FINDING], **status}


def restore(chain: str | None, reason: str = CHAIN_BROKEN, *, kafka: str = "kafka", **status: Any) -> WALRestore:
    """One of this chain; without its name of the only one of the store."""
    kube, key = FakeKube(lambda: START), Key(NAMESPACE, f"of-{chain or 'any'}")
    source = {"clusterId": kafka, **({} if chain is None else {"chain": chain})}
    spec = {"clusterRef": {"name": "wal"}, "source": source, "target": {"latest": True}}
    kube.apply(key, spec, kind=WALRestore)
    kube.write_raw_status(key, WALRestore, verdict(reason, **status))
    found = kube.get(WALRestore, key)
    assert found is not None
    return found


def policy(rows: tuple[BackupChain, ...] = ROWS) -> WALBackupPolicy:
    """It keeps two chains, and what one needs to go back by two hours."""
    kube = FakeKube(lambda: START)
    spec = {"clusterRef": {"name": "wal"}, "schedule": "0 * * * *"}
    kube.apply(POLICY, {**spec, "retention": {"recoveryWindow": "2h", "minimumFulls": 2}}, kind=WALBackupPolicy)
    found = kube.get(WALBackupPolicy, POLICY)
    assert found is not None
    status = found.status.model_copy(update={"chains": rows, "retention_time": START + 5 * HOUR})
    return WALBackupPolicy(found.metadata, found.spec, status)


def goes(*restores: WALRestore, rows: tuple[BackupChain, ...] = ROWS) -> list[str]:
    """The chains that a backup of the newest one is to delete."""
    plan = plan_expiry(Surroundings(policy(rows), (), restores), "s3://wal", "kafka", "c")
    return [] if plan is None else [each.name for each in plan.chains]


def listed(rows: tuple[BackupChain, ...], *restores: WALRestore) -> tuple[BackupChain, ...]:
    """The list of the policy's next status."""
    found = policy(rows)
    return chains.list_chains(found.status, OwnBackups.of(found, (), ()), (), restores, HOUR, now=START).rows


def test_the_last_chain_that_comes_back_stays() -> None:
    assert goes() == ["a"]
    assert goes(restore("b"), restore("c")) == []
    assert goes(restore("b")) == []
    assert goes(restore("c")) == []
    assert goes(restore("a")) == ["a"], "it is no loss"
    older = (row("z", -2), *ROWS)
    assert goes(restore("c"), rows=older) == ["z"], "one can go back to b"


def test_what_must_be_there_is_none_that_is_broken() -> None:
    older = (row("z", -2), *ROWS)
    plan = plan_expiry(Surroundings(policy(older), (), (restore("c"),)), "s3://wal", "kafka", "c")
    assert plan is not None
    assert [each.name for each in plan.stays] == ["a", "b"]


def test_a_list_that_is_frozen_is_withdrawn() -> None:
    backup = WALBackupStatus(location="s3://wal", cluster_id="kafka", chain="c", expiring=("a",))
    assert find_needed(Surroundings(policy(), (), ()), backup) is None
    assert find_needed(Surroundings(policy(), (), (restore("b"),)), backup) == "a"


def test_it_counts_as_soon_as_it_is_known() -> None:
    """Its topics are being removed, which takes as long as Kafka lets it."""
    assert goes(restore("b", "RemovingTopics", stage="Removing", failsAs=CHAIN_BROKEN, completionTime=None)) == []


def test_records_that_do_not_decode_count_and_an_image_that_decodes_none_does_not() -> None:
    assert goes(restore("b", NOT_DECODED)) == []
    assert goes(restore("b", NOT_DECODED, findings=[])) == ["a"]


@pytest.mark.parametrize("reason", ["TooLarge", "CouldNotBegin", "NotOurs", "RequestRefused", "Interrupted"])
def test_other_ends_say_nothing_of_the_chain(reason: str) -> None:
    assert goes(restore("b", reason)) == ["a"]


def test_restores_of_another_place_say_nothing() -> None:
    assert goes(restore("b", kafka="other")) == ["a"]
    assert goes(restore("b", location="s3://elsewhere")) == ["a"]


def test_one_that_names_no_chain_may_have_read_any_that_was_there() -> None:
    assert goes(restore(None)) == []
    early = (START + HOUR).isoformat()
    assert goes(restore(None, completionTime=early)) == ["a"], "only a was there"


def test_what_is_made_while_the_topics_of_a_restore_go_it_has_not_read() -> None:
    """That may take days; and what is written down is never taken back."""
    judged = (START + HOUR).isoformat()
    going: dict[str, Any] = {
        "stage": "Removing",
        "failsAs": CHAIN_BROKEN,
        "completionTime": None,
        "attemptTime": judged,
    }
    rows = listed(ROWS, restore(None, "RemovingTopics", **going))
    assert [each.broken_by for each in rows] == ["of-any", None, None]
    over: dict[str, Any] = {"failsAs": CHAIN_BROKEN, "attemptTime": judged}  # its topics are gone hours later
    assert [each.broken_by for each in listed(ROWS, restore(None, **over))] == ["of-any", None, None]


def test_the_list_remembers_what_a_restore_found_when_its_object_is_gone() -> None:
    rows = listed(ROWS, restore("b"))
    assert [each.broken_by for each in rows] == [None, "of-b", None]
    assert listed(rows) == rows
    assert [each.broken_by for each in listed(rows, restore(None))] == ["of-any", "of-b", "of-any"]
    assert goes(rows=rows) == []


def test_the_reasons_are_those_of_restores() -> None:
    assert {CHAIN_BROKEN, NOT_DECODED} == {Reason.CHAIN_BROKEN.value, Reason.NOT_DECODED.value}


def test_a_drill_that_fails_by_the_backup_is_in_the_list() -> None:
    world = drilled()
    world.live(TWENTY)
    assert [each.broken_by for each in world.policy().status.chains] == [None]
    world.undecodable = True
    world.live(2 * TWENTY)
    failed = [each.metadata.name for each in world.drills() if each.status.stage is RestoreStage.FAILED]
    assert [each.broken_by for each in world.policy().status.chains] == failed[:1]


def test_what_a_restore_found_is_in_the_list_before_its_ttl_takes_it() -> None:
    world = drilled(broken_store=True)
    world.drill(ttlSecondsAfterFinished=0)
    found = world.settle_restore()
    assert found is not None, "and with it what it found"
    assert why(found)[0] == CHAIN_BROKEN
    settle(world.planner(), POLICY)
    assert [each.broken_by for each in world.policy().status.chains] == ["back"]
    assert world.settle_restore(ticks=5) is None


def test_a_restore_waits_for_nobody_who_does_not_write_down_what_it_found() -> None:
    said = "WALBackupPolicy p has not written down yet that chain b is broken"
    assert why_it_stays(restore("b"), (policy(), policy())) == said
    going = policy().metadata.model_copy(update={"deletion_timestamp": START})
    for none in (
        WALBackupPolicy(going, policy().spec, policy().status),
        policy(listed(ROWS, restore("b"))),
        policy(tuple(each.model_copy(update={"gone": True}) for each in ROWS)),
        policy(ROWS[:1]),
    ):
        assert why_it_stays(restore("b"), (none,)) is None
    assert why_it_stays(restore("b", "TooLarge"), (policy(),)) is None


def find_broken(world: PolicyWorld, *names: str) -> list[Key]:
    """Restores of these chains end; which ones."""
    keys = []
    for each in world.policy().status.chains:
        if each.name in names:
            key = Key(NAMESPACE, f"of-{each.name}")
            source = {"clusterId": each.cluster_id, "chain": each.name}
            spec = {"clusterRef": {"name": "wal"}, "source": source, "target": {"latest": True}}
            world.kube.apply(key, spec, kind=WALRestore)
            world.kube.write_raw_status(key, WALRestore, verdict(CHAIN_BROKEN, location=each.location))
            keys.append(key)
    return keys


def test_a_policy_lets_nothing_go_before_new_chains_are_proved() -> None:
    world = policies.made(policies.declared(), 4)
    before, old = list(world.deleted), policies.chains(world)
    restores = find_broken(world, *old)
    assert len(restores) == len(old)
    settle(world.planner(), POLICY)
    for key in restores:
        world.kube.remove(key, WALRestore)
    assert policies.condition(world)[:2] == ("True", "Applied")
    said = policies.condition(world)[2]
    assert said.endswith(f"4 of them let no other go: WALRestore of-{old[-1]} found {old[-1]} broken")
    policies.made(world, 3)
    assert world.deleted == before
    policies.made(world, 3)
    assert set(old) <= set(world.deleted)


def continued_once() -> PolicyWorld:
    """A policy with a full backup, and one that continues it."""
    world = backed_up()
    for _ in range(2):
        world.write("wal_1", 3)
        world.live(TEN)
    world.live(timedelta(minutes=2))
    assert world.modes() == ["full BackedUp", "next BackedUp"]
    return world


def test_a_chain_that_a_restore_found_broken_is_not_continued() -> None:
    world = continued_once()
    last = world.policy().status.last
    assert last is not None
    (found,) = find_broken(world, last.chain)
    settle(world.planner(), POLICY)
    assert world.condition() == ("False", CHAIN_BROKEN)
    world.kube.remove(found, WALRestore)
    world.write("wal_1", 3)
    world.live(TEN)
    world.live(timedelta(minutes=2))
    assert world.modes()[2:] == ["full BackedUp"]
    assert world.condition() == ("True", "BackedUp")
    world.write("wal_1", 3)
    world.live(TEN)
    assert world.modes()[-1] == "next BackedUp", "the new chain is continued"


def test_that_another_chain_is_broken_ends_none() -> None:
    world = continued_once()
    world.declare_backups(fullSchedule="20 * * * *")
    old = world.policy().status.chains[-1].name
    world.live(TEN)
    assert world.modes()[-1] == "full BackedUp"
    assert len(find_broken(world, old)) == 1
    world.write("wal_1", 3)
    world.live(TEN)
    assert (world.modes()[-1], world.condition()) == ("next BackedUp", ("True", "BackedUp"))


def test_a_chain_for_which_the_list_has_no_room_is_not_continued_while_the_restore_is_there() -> None:
    world = continued_once()
    last = world.backups()[-1]
    (found,) = find_broken(world, last.status.chain or "")
    restore = world.kube.get(WALRestore, found)
    assert restore is not None
    nothing = chains.Listed((), None)
    why = chains.why_broken(nothing, last, [restore])
    assert why == f"WALRestore {found.name} found {last.status.chain} broken"
    assert chains.why_broken(nothing, last, ()) is None
    assert chains.why_broken(nothing, None, [restore]) is None


MUTANTS: tuple[Mutant, ...] = (
    (
        rewritten(restoring, "decide", "observed.outlives_ttl is not None", "False", restore_controller),
        test_what_a_restore_found_is_in_the_list_before_its_ttl_takes_it,
    ),
    (
        rewritten(restore_parts, "read_why_it_stays", "not found_it_broken(obj)", "True", restore_controller),
        test_what_a_restore_found_is_in_the_list_before_its_ttl_takes_it,
    ),
    (
        rewritten(retention, "choose", " and each.broken_by is None", ""),
        test_the_last_chain_that_comes_back_stays,
    ),
    (
        rewritten(retention, "plan_expiry", "as_restored(each, found.restores)", "each"),
        test_a_list_that_is_frozen_is_withdrawn,
    ),
    (
        rewritten(chains, "list_chains", "as_restored(_kept(row, backups), restores)", "_kept(row, backups)"),
        test_the_list_remembers_what_a_restore_found_when_its_object_is_gone,
    ),
    (
        rewritten(policy_rules, "_create", " or case.broken", ""),
        test_a_chain_that_a_restore_found_broken_is_not_continued,
    ),
    (
        rewritten(policy_status, "_backed_up", "(CHAIN_BROKEN, case.broken)", "(CHAIN_BROKEN, None)"),
        test_a_chain_that_a_restore_found_broken_is_not_continued,
    ),
    (
        rewritten(chains, "why_broken", "each.name == last.status.chain", "True", policy_case),
        test_that_another_chain_is_broken_ends_none,
    ),
    (
        rewritten(broken, "found_it_broken", "restore.status.fails_as", "None"),
        test_it_counts_as_soon_as_it_is_known,
    ),
    (
        rewritten(broken, "_is_about", "return judged is None or", "return source is None and"),
        test_one_that_names_no_chain_may_have_read_any_that_was_there,
    ),
    (
        rewritten(broken, "_is_about", " if status.fails_as is None else status.attempt_time", ""),
        test_what_is_made_while_the_topics_of_a_restore_go_it_has_not_read,
    ),
)


def test_every_guard_is_needed() -> None:
    assert not find_survivors(MUTANTS)
