"""Whether a database is stopped: by its reports, and by all of its StatefulSets."""

from __future__ import annotations

from seawall.api.meta import Key
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.restore.case import DatabaseNow
from seawall.domain.restore.database import judge_pods, judge_reports, judge_sets, newest_of
from seawall.domain.times import RESTORE_SILENT_AFTER
from tests.domain.datanodes.builders import make_statefulset
from tests.fakes.dataplane import FakeDataPlane
from tests.worlds.purge_world import WAL
from tests.worlds.restart_world import MANAGER, managed_cluster
from tests.worlds.restore_world import lost
from tests.worlds.verification_world import why

LONG = int(RESTORE_SILENT_AFTER.total_seconds() * 1000)


def test_reports_must_not_advance_for_a_while_and_one_less_is_no_report() -> None:
    plane = FakeDataPlane()
    newest = newest_of(plane.reports())
    silence, first = judge_reports(None, newest, 0)
    assert first is not None
    assert first.runs is None
    silence, early = judge_reports(silence, newest, LONG - 1)
    assert early is not None
    assert early.runs is None
    silence, stopped = judge_reports(silence, newest[:2], LONG)
    assert stopped is not None
    assert stopped.runs is False
    silence, forgotten = judge_reports(silence, (), LONG + 1)
    assert forgotten is None
    silence, again = judge_reports(silence, newest_of(plane.reports()), LONG + 2)
    assert again is not None
    assert again.runs is True
    _, waits = judge_reports(silence, silence.newest, LONG + 3)
    assert waits is not None
    assert waits.runs is None


def of(name: str, replicas: int, generation: int = 1) -> DatabaseNow:
    """What a StatefulSet of so many datanodes says."""
    found = make_statefulset(key=Key("db", name), uid=name, replicas=replicas, generation=generation)
    return judge_pods(name, found, ())


def test_of_several_stateful_sets_one_that_runs_is_enough_and_one_that_nobody_knows() -> None:
    stopped, runs, unknown = of("a", 0), of("b", 1), judge_pods("c", None, ())
    assert judge_sets([stopped, runs, unknown]) == runs
    assert judge_sets([stopped, unknown]) == unknown
    assert judge_sets([]).runs is None
    assert judge_sets([stopped, of("b", 0)]).runs is False


def test_who_starts_and_stops_any_of_them_in_between_is_noticed() -> None:
    before = judge_sets([of("a", 0), of("b", 0)])
    assert judge_sets([of("a", 0)]) == of("a", 0), "one alone is as it ever was"
    assert before.stopped_as != judge_sets([of("a", 0), of("b", 0, generation=3)]).stopped_as
    assert before.stopped_as != judge_sets([of("a", 0)]).stopped_as


def test_a_greptimedbcluster_that_is_gone_does_not_mean_that_its_database_is_stopped() -> None:
    world = lost()
    named = {"greptimedb": {"clusterRef": {"name": MANAGER.name}, "autoPrune": "Disabled"}}
    world.kube.apply(WAL, {**world.spec(), "dataPlane": named})
    world.kube.greptimedb_clusters[MANAGER] = managed_cluster()
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.approve()
    world.settle_restore(ticks=30)
    assert why(world.walrestore())[0] == "DatabaseRunning"
    del world.kube.greptimedb_clusters[MANAGER]
    world.settle_restore(ticks=30)
    reason, message = why(world.walrestore())
    assert reason == "DatabaseUnknown"
    assert "there is no GreptimeDBCluster db in this namespace" in message
    assert world.kafka.topics == {}
    world.kube.greptimedb_clusters[MANAGER] = managed_cluster()
    world.stop_database()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED
